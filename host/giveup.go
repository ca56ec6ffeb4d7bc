package host

import (
	"context"
	"errors"
	"sync/atomic"

	"piworkflows/controller"
	"piworkflows/lease"
)

// giveUp ends the work of a host that runs once when the store fails for good: it
// would wait for ever. A host that was started to stay is not ended by any error of
// its store. It is an observer for what the manager meets.
type giveUp struct {
	end atomic.Pointer[context.CancelCauseFunc]
}

// Observe implements controller.Observer.
func (g *giveUp) Observe(r controller.Record) {
	if failed, ok := r.(controller.StoreFailed); ok {
		g.hear(failed.Err)
	}
}

// hear is told of an error of the store.
func (g *giveUp) hear(err error) {
	if end := g.end.Load(); end != nil && lasting(err) {
		(*end)(&storeError{err})
	}
}

// storeError is why a host that runs once gave up.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// lasting reports whether an error of the store does not go away by itself, as a busy
// store does, or a full disk.
func lasting(err error) bool {
	passing, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return !(ok && passing.Temporary()) && !errors.Is(err, lease.ErrLost) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
