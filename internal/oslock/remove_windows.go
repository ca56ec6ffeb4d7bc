package oslock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

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
