package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"piworkflows/clock"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// turn is the right to run the workers of a project, which one process at a time
// has: a host, or a session beside it.
type turn struct {
	store runqueue.Store
	clock clock.Clock
	log   *slog.Logger
	lasts time.Duration
	token lease.Token
	// failed is told of errors of the store.
	failed func(error)
}

// take blocks until the workers are ours; false once ctx ended.
func (t turn) take(ctx context.Context) bool {
	told := ""
	for ctx.Err() == nil {
		w, err := t.store.ClaimWorkers(ctx, t.token, t.lasts)
		switch {
		case err == nil && w.Ours:
			return true
		case err == nil:
			if w.Holder != told {
				told = w.Holder
				t.log.InfoContext(ctx, "waiting: another process runs the workers", "holder", w.Holder, "since", clock.Format(w.Since))
			}
			err = t.store.WaitWorkers(ctx)
		}
		if err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "cannot take the workers, it is tried again", "error", err)
			t.failed(err)
			_ = clock.Sleep(ctx, t.clock, storeRetry)
		}
	}
	return false
}

// errWorkersLost ends the work of a process that was away for longer than its lease.
var errWorkersLost = &lease.LostError{What: "the workers of the project", Reason: lease.Taken}

// keep renews the workers until release is called; held ends if they are lost.
func (t turn) keep(ctx context.Context) (held context.Context, release func()) {
	held, stop := lease.Keep(ctx, lease.Renewal{
		Clock: t.clock, Every: t.lasts / renewals, Lasts: t.lasts,
		Renew: func(ctx context.Context) error {
			w, err := t.store.ClaimWorkers(ctx, t.token, t.lasts)
			if err == nil && !w.Ours {
				err = errWorkersLost
			}
			return err
		},
	})
	return held, func() {
		stop()
		if err := t.store.ReleaseWorkers(context.WithoutCancel(ctx), t.token); err != nil {
			t.log.WarnContext(ctx, "the workers are not given back; others have to wait for the end of the lease", "error", err)
		}
	}
}

// renewals is how often a lease is renewed in its time.
const renewals = 3

// serve runs the workers whenever it is our turn, until ctx ends or they end by
// themselves.
func (h *Host) serve(ctx context.Context, work func(context.Context) error) error {
	for h.turn.take(ctx) {
		held, release := h.turn.keep(ctx)
		h.health.phase.CompareAndSwap(phaseStarting, phaseWorking)
		err := work(held)
		lost := held.Err() != nil && ctx.Err() == nil && errors.Is(context.Cause(held), lease.ErrLost)
		release()
		if !lost || err != nil {
			return err
		}
		h.health.phase.CompareAndSwap(phaseWorking, phaseStarting)
		h.turn.log.WarnContext(ctx, "the workers were lost, for example because this process was stopped; waiting for them")
	}
	return nil
}
