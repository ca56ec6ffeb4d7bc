//go:build !windows

package oslock

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// TryLockDir is [TryLock] for a folder, which must exist and stays when the lock
// is removed. The folder itself is locked: no file is made, which is quicker, and
// no file is left by a process that dies.
func TryLockDir(dir string) (*Lock, error) { return try(dir, true, flock.SetFlag(os.O_RDONLY)) }

// HeldDir is [Held] for a folder.
func HeldDir(dir string) (bool, error) { return Held(dir) }

// Remove removes the lock file and releases the lock, in an order that leaves
// no moment in which two processes hold locks for the same path.
func (l *Lock) Remove() error {
	if !l.file.Locked() {
		return nil
	}
	if l.stays {
		return l.Unlock()
	}
	err := os.Remove(l.file.Path())
	if err != nil {
		err = fmt.Errorf("remove lock file: %w", err)
	}
	return errors.Join(err, l.Unlock())
}
