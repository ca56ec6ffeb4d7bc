//go:build unix

package fswatch

import (
	"errors"
	"fmt"
	"syscall"
)

// hinted adds to a limit of the system how it is raised.
func hinted(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the limit of watches is reached, raise fs.inotify.max_user_watches: %w", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("the limit of open files or of watchers is reached, raise it (ulimit -n, fs.inotify.max_user_instances): %w", err)
	default:
		return err
	}
}
