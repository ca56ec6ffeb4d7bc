package durable

import (
	"errors"
	"io/fs"
)

// IsDiskFull reports whether an operation failed for want of space: a full
// disk, a quota, or a limit on file size. It may succeed once there is space.
func IsDiskFull(err error) bool { return isAny(err, diskFullErrors) }

// IsReadOnly reports whether an operation failed because the place does not
// allow writing: a read-only file system or missing permission.
func IsReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || isAny(err, readOnlyErrors)
}

func isAny(err error, kinds []error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
