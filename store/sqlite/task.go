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

// task is what one caller wants to be written.
type task struct {
	ctx context.Context
	// run has to last. then follows the run of every task of the group, and need
	// not last: claims find what the others of their group have given back, and
	// follow each other. One of them may be nil. Both may be called again after
	// everything that they did was rolled back, and change nothing before all that
	// can go wrong with their values has.
	run, then func(*conn) error
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

// needs tells how long what a group writes has to last.
func needs(group []*task) lasting {
	for _, t := range group {
		if t.run != nil {
			return synced
		}
	}
	return fleeting
}

// fleetingParts counts the tasks of a group that have something that need not last.
func fleetingParts(group []*task) (count int) {
	for _, t := range group {
		if t.then != nil {
			count++
		}
	}
	return count
}
