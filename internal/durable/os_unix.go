//go:build !windows

package durable

import (
	"errors"
	"os"
	"syscall"
)

var (
	diskFullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	readOnlyErrors = []error{syscall.EROFS}
)

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // an fs.PathError says enough
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // this file system cannot sync folders
	}
	return errors.Join(err, dir.Close())
}

// A scratch file loses its name as soon as it is open.
const (
	removeOpen  = true
	scratchFlag = 0
)
