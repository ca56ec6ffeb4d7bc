package fswatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A watch that could not be had is tried again after a delay that doubles.
const (
	watchRetryBase = time.Minute
	watchRetryMax  = time.Hour
)

// watch begins to watch if it is time for it. What happened before is not known
// then.
func (r *run) watch() {
	if r.watcher != nil || r.options.Poll || r.in.Clock.Now().Before(r.retry) {
		return
	}
	w, err := r.open()
	if err != nil {
		r.giveUp(err)
		return
	}
	r.watcher, r.blind = w, nil
	r.collector.Go(func() { r.collect(w) })
	r.marks.markAll()
}

// giveUp goes on without watching for some time.
func (r *run) giveUp(err error) {
	r.unwatch()
	r.blind = hinted(err)
	r.retryDelay = min(max(2*r.retryDelay, watchRetryBase), watchRetryMax)
	r.retry = r.in.Clock.Now().Add(r.retryDelay)
}

// unwatch ends the watch.
func (r *run) unwatch() {
	if r.watcher == nil {
		return
	}
	if err := r.watcher.Close(); err != nil {
		r.in.Failed(fmt.Errorf("end the watch of %s: %w", r.options.Root, err))
	}
	r.collector.Wait()
	r.watcher = nil
}

// watchFolder sets one watch. A folder that is gone, or that may not be read, needs
// none.
func (r *run) watchFolder(dir string) {
	if r.watcher == nil {
		return
	}
	err := r.add(r.watcher, dir)
	if err != nil && !gone(err) && !errors.Is(err, os.ErrPermission) {
		r.giveUp(err)
	}
}

// unwatchFolder takes a watch; mostly the system did already.
func (r *run) unwatchFolder(dir string) {
	if r.watcher != nil {
		_ = r.watcher.Remove(dir)
	}
}

// collect marks what the system tells, until the watcher is closed. It does
// nothing that takes long, for the system keeps only so many events.
func (r *run) collect(w *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			r.mark(e)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				r.in.Failed(fmt.Errorf("watch %s: %w", r.options.Root, err))
			}
			r.marks.markAll()
		}
	}
}

// mark marks the place of an event. A change of attributes only has to be seen.
func (r *run) mark(e fsnotify.Event) {
	name, err := filepath.Rel(r.options.Root, e.Name)
	name = filepath.ToSlash(name)
	if err != nil || name == ".." || strings.HasPrefix(name, "../") || r.ignore.within(name) {
		return
	}
	r.marks.mark(name, e.Op != fsnotify.Chmod)
}
