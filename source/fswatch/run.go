package fswatch

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"piworkflows/clock"
	"piworkflows/controller"
)

// run is one run of a source.
type run struct {
	*Source
	in    controller.Intake
	marks *marks

	watcher   *fsnotify.Watcher
	collector sync.WaitGroup
	// blind is why the system does not watch; retry is when it is asked again.
	blind      error
	retry      time.Time
	retryDelay time.Duration
	// unread is what the last look at everything could not see.
	unread error
}

// round looks at what is marked and delivers what changed.
func (r *run) round(ctx context.Context) error {
	r.watch()
	all, list := r.marks.take()
	l := &look{
		tree: r.tree, now: r.in.Clock.Now(), watch: r.watchFolder, unwatch: r.unwatchFolder,
		changed: func(path string) error { return r.changed(ctx, path) },
	}
	for _, m := range list {
		if err := l.at(ctx, m.path, m.written, false); err != nil {
			return err
		}
	}
	if l.unread != nil {
		r.unread = l.unread
	}
	if all || l.moved && r.watcher != nil {
		if err := r.everything(ctx, l); err != nil {
			return err
		}
	}
	r.in.Degraded(r.trouble())
	return r.owed.deliver(ctx, r.in.Deliver)
}

// everything looks at the whole tree and sets every watch again.
func (r *run) everything(ctx context.Context, l *look) error {
	l.moved, l.unread = false, nil
	l.watch(filepath.Dir(r.options.Root)) // it tells when the root comes and goes
	if err := l.at(ctx, ".", false, true); err != nil {
		return err
	}
	r.unread = l.unread
	if r.watcher == nil {
		return nil
	}
	r.retryDelay = 0
	if l.moved {
		r.marks.markAll()
	}
	return nil
}

// changed owes the keys of a path.
func (r *run) changed(ctx context.Context, path string) error {
	full, err := r.owed.add(path)
	if err != nil {
		r.in.Failed(err)
	}
	if !full {
		return nil
	}
	return r.owed.deliver(ctx, r.in.Deliver)
}

// wait returns when there is something to look at and it has been quiet for a
// while.
func (r *run) wait(ctx context.Context) error {
	var interval <-chan time.Time
	var next time.Time
	if r.trouble() != "" || r.options.Poll {
		next = r.in.Clock.Now().Add(r.options.Interval)
		timer := r.in.Clock.NewTimer(r.options.Interval)
		defer timer.Stop()
		interval = timer.C()
	}
	r.in.Next(next)
	select {
	case <-r.marks.woken:
		return r.quieten(ctx)
	case <-interval:
		r.marks.markAll()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *run) quieten(ctx context.Context) error {
	latest := r.in.Clock.Now().Add(longestWait * r.options.Quiet)
	for {
		wait := min(r.options.Quiet-r.marks.quietFor(), latest.Sub(r.in.Clock.Now()))
		if wait <= 0 {
			return nil
		}
		if err := clock.Sleep(ctx, r.in.Clock, wait); err != nil {
			return err
		}
	}
}

// trouble says why the source does not hear of everything; "" if it does.
func (r *run) trouble() string {
	every := fmt.Sprintf("; everything is looked at every %s instead", r.options.Interval)
	switch {
	case r.tree.top == nil:
		return fmt.Sprintf("there is no folder %s; it is looked for every %s", r.options.Root, r.options.Interval)
	case r.blind != nil:
		return fmt.Sprintf("the system does not watch %s: %v%s", r.options.Root, r.blind, every)
	case r.unread != nil:
		return fmt.Sprintf("not all of %s can be read: %v%s", r.options.Root, r.unread, every)
	default:
		return ""
	}
}
