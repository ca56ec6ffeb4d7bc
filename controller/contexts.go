package controller

import (
	"cmp"
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

// bounded returns the context of the reconciler: it ends with the claim, with a
// stop, or at the deadline.
func (p *passRun) bounded(held, stop context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(held)
	timeout := cmp.Or(p.definition.Timeout, DefaultTimeout)
	disarm := clock.AfterFunc(p.o.Clock, timeout, func() { cancel(&TimeoutError{Ref: p.claim.Ref, Timeout: timeout}) })
	unlink := context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })
	return ctx, func() {
		unlink()
		disarm()
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
