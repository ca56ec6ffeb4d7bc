package oslock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// dirLock is the file that stands for its folder, because Windows locks files
// only.
const dirLock = "owner.lock"

// TryLockDir is [TryLock] for a folder, which must exist and stays when the lock
// is removed.
func TryLockDir(dir string) (*Lock, error) { return TryLock(filepath.Join(dir, dirLock)) }

// HeldDir is [Held] for a folder.
func HeldDir(dir string) (bool, error) { return Held(filepath.Join(dir, dirLock)) }

// Remove releases the lock and removes its file. Windows keeps an open file, so
// the order is the other way round than elsewhere; it also refuses to remove a
// file that somebody opened meanwhile, so that a new holder keeps its file, and
// that refusal is not an error.
func (l *Lock) Remove() error {
	if !l.file.Locked() {
		return nil
	}
	if err := l.Unlock(); err != nil {
		return err
	}
	err := os.Remove(l.file.Path())
	if err != nil && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !os.IsNotExist(err) {
		return fmt.Errorf("remove lock file: %w", err)
	}
	return nil
}
