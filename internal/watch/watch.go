// Package watch tells when something happens in folders, so that who shows files
// of another process neither polls nor comes late.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watcher watches folders. Only one goroutine waits at a time.
type Watcher struct {
	watcher *fsnotify.Watcher
	// only are the names that count in a folder; all of them if it is not here.
	only map[string][]string
}

// New watches nothing yet. Close it.
func New() (*Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return &Watcher{watcher: w, only: map[string][]string{}}, nil
}

// Add watches a folder and reports whether it is there. Whoever reads it after
// that misses nothing. Only the entries of these names count, all of them if none
// are given. To add a folder again changes nothing.
func (w *Watcher) Add(dir string, names ...string) (there bool, err error) {
	err = w.watcher.Add(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", dir, err)
	}
	if len(names) > 0 {
		w.only[filepath.Clean(dir)] = names
	}
	return true, nil
}

// Wait returns once something happened since the last Wait, or with the cause of
// ctx. It may also return for nothing.
func (w *Watcher) Wait(ctx context.Context) error {
	for {
		select {
		case e := <-w.watcher.Events:
			if w.counts(e.Name) {
				w.drain()
				return nil
			}
		case err := <-w.watcher.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil // events were lost: look at everything
			}
			return fmt.Errorf("watch files: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drain takes what came meanwhile: one look at the files serves all of it.
func (w *Watcher) drain() {
	for {
		select {
		case <-w.watcher.Events:
		default:
			return
		}
	}
}

func (w *Watcher) counts(path string) bool {
	names, some := w.only[filepath.Dir(path)]
	if !some {
		return true
	}
	for _, name := range names {
		if filepath.Base(path) == name {
			return true
		}
	}
	return false
}

// Close ends the watch.
func (w *Watcher) Close() error {
	if err := w.watcher.Close(); err != nil {
		return fmt.Errorf("end the watch of files: %w", err)
	}
	return nil
}
