package sqlite

import (
	"context"
	"sync/atomic"
)

// task is one write of one caller.
type task struct {
	ctx context.Context
	// run may be called again after everything that it did was rolled back.
	run func(*conn) error
	// taken is set by whoever comes first: the writer that starts the task, or
	// the caller that gives up.
	taken   atomic.Bool
	started bool // the writer's note
	err     error
	done    chan struct{}
}

// start reports whether the task is to run: its caller has not given up.
func (t *task) start() bool {
	if t.started {
		return true
	}
	if t.ctx.Err() != nil || !t.taken.CompareAndSwap(false, true) {
		t.err = context.Cause(t.ctx)
		return false
	}
	t.started = true
	return true
}

// fail gives every task of a failed transaction its error.
func fail(group []*task, err error) {
	for _, t := range group {
		t.err = err
	}
}
