package controller

import (
	"context"
	"errors"

	"piworkflows/clock"
)

// errStoreSlow ends a store operation that nobody else bounds.
var errStoreSlow = errors.New("the store did not answer within one lease")

// linked returns a context that ends with parent, or with the given cause once
// other has ended. A nil cause is that of other.
func linked(parent, other context.Context, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	unlink := context.AfterFunc(other, func() {
		if cause == nil {
			cause = context.Cause(other)
		}
		cancel(cause)
	})
	return ctx, func() {
		unlink()
		cancel(context.Canceled)
	}
}

// stopping returns the context of passes: it outlives ctx only to say why.
func stopping(ctx context.Context) (context.Context, context.CancelFunc) {
	return linked(context.WithoutCancel(ctx), ctx, ErrStopped)
}

// detached returns a context for what has to be stored although the work that
// led to it was cancelled. One lease bounds it: after that, others go on.
func (m *Manager) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return clock.WithTimeoutCause(context.WithoutCancel(ctx), m.o.Clock, m.o.Lease, errStoreSlow)
}
