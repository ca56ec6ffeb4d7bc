package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"piworkflows/clock"
	"piworkflows/internal/oslock"
)

// hostLock keeps a second host off the store. The operating system holds the
// lock, so it goes with its process; the text beside it only says who has it.
type hostLock struct {
	lock *oslock.Lock
	note string
}

// lockHost takes the lock of a store that exists. It is named after the file
// itself, so that stores may lie side by side and links lead to the same lock.
func lockHost(ctx context.Context, store string, c clock.Clock) (*hostLock, error) {
	file, err := filepath.EvalSymlinks(store)
	if err != nil {
		return nil, fmt.Errorf("take the host lock of %s: %w", store, err)
	}
	path, note := file+".host.lock", file+".host.owner"
	var lock *oslock.Lock
	err = oslock.Patiently(ctx, func() (err error) {
		lock, err = oslock.TryLock(path)
		return err
	})
	if errors.Is(err, oslock.ErrHeld) {
		return nil, &HeldError{Lock: path, Holder: readNote(note)}
	}
	if err != nil {
		return nil, fmt.Errorf("take the host lock %s: %w", path, err)
	}
	text := fmt.Sprintf("process %d since %s\n", os.Getpid(), clock.Format(c.Now()))
	if err := os.WriteFile(note, []byte(text), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("note the owner of the host lock: %w", err), lock.Unlock())
	}
	return &hostLock{lock: lock, note: note}, nil
}

// Running reports whether a host runs on the store of a project.
func Running(p Paths) (bool, error) {
	_, runs, err := Holder(p)
	return runs, err
}

// Holder reports whether a host runs on the store of a project, and what it wrote
// about itself.
func Holder(p Paths) (holder string, runs bool, err error) {
	file, err := filepath.EvalSymlinks(p.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look for a host on %s: %w", p.Store, err)
	}
	held, err := oslock.Held(file + ".host.lock")
	if err != nil {
		return "", false, fmt.Errorf("look for a host on %s: %w", p.Store, err)
	}
	if !held {
		return "", false, nil
	}
	return readNote(file + ".host.owner"), true, nil
}

// maxNote bounds what is shown of the owner's note.
const maxNote = 200

func readNote(path string) string {
	b, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" && len(text) <= maxNote {
		return text
	}
	return "its owner left no note"
}

func (l *hostLock) release() error {
	// The note goes first: a new holder must find none of ours.
	return errors.Join(os.Remove(l.note), l.lock.Unlock())
}

// remove is release for a store that goes.
func (l *hostLock) remove() error { return errors.Join(os.Remove(l.note), l.lock.Remove()) }
