package durable

import "syscall"

// Windows error codes without a name in package syscall.
const (
	errorWriteProtect   syscall.Errno = 19
	errorHandleDiskFull syscall.Errno = 39
	errorDiskFull       syscall.Errno = 112
	errorFileTooLarge   syscall.Errno = 223
	errorDiskQuota      syscall.Errno = 1295
)

var (
	diskFullErrors = []error{errorDiskFull, errorHandleDiskFull, errorFileTooLarge, errorDiskQuota, syscall.ENOSPC}
	readOnlyErrors = []error{errorWriteProtect, syscall.EROFS}
)

// syncDir does nothing: Windows has no such operation.
func syncDir(string) error { return nil }
