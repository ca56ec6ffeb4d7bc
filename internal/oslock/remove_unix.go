//go:build !windows

package oslock

import (
	"errors"
	"fmt"
	"os"
)

// Remove removes the lock file and releases the lock, in an order that leaves
// no moment in which two processes hold locks for the same path.
func (l *Lock) Remove() error {
	if !l.file.Locked() {
		return nil
	}
	err := os.Remove(l.file.Path())
	if err != nil {
		err = fmt.Errorf("remove lock file: %w", err)
	}
	return errors.Join(err, l.Unlock())
}
