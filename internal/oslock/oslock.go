// Package oslock takes locks that the operating system releases when the
// process dies, however it dies. Whoever can take such a lock knows that its
// former holder is gone.
package oslock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// ErrHeld is what every [*HeldError] is, for errors.Is.
var ErrHeld = errors.New("lock is held")

// HeldError says that somebody holds the lock: another process, or this one.
type HeldError struct {
	// Path is the lock file.
	Path string
}

// Error names the lock file and what to do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lock %s is held; its holder is alive: stop it, or wait for its end", e.Path)
}

// Unwrap makes the error an [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// Lock is a held lock. It is safe for concurrent use.
type Lock struct {
	file *flock.Flock
	// stays says that what is locked is more than a lock file.
	stays bool
}

// maxAttempts bounds how often the lock file may vanish under our hands.
const maxAttempts = 10

// TryLock takes the lock of the file at path, which is made (0600) when it is
// missing; its folder must exist. It never waits: when anybody holds the lock,
// this process included, the error is a [*HeldError]. The file's content means
// nothing.
//
// The lock belongs to the file, not to the path. So nobody may remove the file
// except by [Lock.Remove], while holding the lock.
func TryLock(path string) (*Lock, error) { return try(path, false) }

func try(path string, stays bool, options ...flock.Option) (*Lock, error) {
	for range maxAttempts {
		file := flock.New(path, options...)
		locked, err := file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("take lock: %w", err)
		}
		if !locked {
			return nil, &HeldError{Path: path}
		}
		if current(file) {
			return &Lock{file: file, stays: stays}, nil
		}
		if err := file.Unlock(); err != nil {
			return nil, fmt.Errorf("leave lock of a removed file: %w", err)
		}
	}
	return nil, fmt.Errorf("take lock %s: the file was removed %d times meanwhile", path, maxAttempts)
}

// Held reports whether somebody holds the lock of a file, which is not made. It
// is a look and no claim: the answer may be old when it arrives. Whoever takes
// the lock in the very moment of the look may have to try again.
func Held(path string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	file := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	if err := file.Close(); err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	return !free, nil
}

// current reports whether the locked file is still the one at its path. A
// holder may have removed it between our opening and our locking it; then the
// next process would make, and lock, another file.
func current(file *flock.Flock) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Path())
	return err == nil && os.SameFile(held, named)
}

// Path returns the lock file.
func (l *Lock) Path() string { return l.file.Path() }

// Unlock releases the lock and leaves the file. A second call does nothing.
func (l *Lock) Unlock() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("release lock %s: %w", l.file.Path(), err)
	}
	return nil
}
