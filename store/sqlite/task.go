package sqlite

import (
	"context"
	"sync/atomic"
)

// lasting is how long what a task writes has to last.
type lasting bool

const (
	// synced is on the disk before its caller is answered.
	synced lasting = true
	// fleeting dies with this process, for example a claim: no crash can take it
	// away too early.
	fleeting lasting = false
)

// task is one write of one caller.
type task struct {
	ctx   context.Context
	lasts lasting
	// run may be called again after everything that it did was rolled back. It
	// changes nothing before all that can go wrong with its values has.
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

// arrange puts what may be lost at the end, and counts it: claims find what the
// others of their group have given back, and follow each other.
func arrange(group []*task) (ordered []*task, fleetingOnes int) {
	ordered = make([]*task, 0, len(group))
	for _, t := range group {
		if t.lasts == synced {
			ordered = append(ordered, t)
		}
	}
	fleetingOnes = len(group) - len(ordered)
	for _, t := range group {
		if t.lasts == fleeting {
			ordered = append(ordered, t)
		}
	}
	return ordered, fleetingOnes
}
