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

// Windows removes no open file; instead the system removes a scratch file when
// its last handle is closed, also that of a dead process.
const (
	removeOpen  = false
	scratchFlag = 0x04000000 // FILE_FLAG_DELETE_ON_CLOSE
)
