package durable

import "syscall"

// Windows error codes without a name in package syscall.
const (
	errWriteProtect   syscall.Errno = 19
	errHandleDiskFull syscall.Errno = 39
	errDiskFull       syscall.Errno = 112
	errFileTooLarge   syscall.Errno = 223
	errDiskQuota      syscall.Errno = 1295
)

var (
	diskFullErrors = []error{errDiskFull, errHandleDiskFull, errFileTooLarge, errDiskQuota, syscall.ENOSPC}
	readOnlyErrors = []error{errWriteProtect, syscall.EROFS}
)

// syncDir does nothing: Windows has no such operation.
func syncDir(string) error { return nil }
