package engine

import (
	"context"
	"errors"
	"time"

	"piworkflows/clock"
	"piworkflows/lease"
)

// fenceRetry lies between two questions to a store that could not answer.
const fenceRetry = time.Second

// fence asks whether the run is still ours. A store that cannot say is asked
// again: that it is busy for a moment must not end a run. After the time of a
// lease, or when the run is to end anyway, its error counts.
func (r *Run) fence(ctx context.Context) error {
	if r.o.Fence == nil {
		return nil
	}
	first := r.e.o.Clock.Now()
	for {
		err := r.o.Fence(ctx)
		if err == nil || errors.Is(err, lease.ErrLost) || r.e.o.Clock.Now().Sub(first) >= lease.DefaultDuration {
			return err
		}
		r.e.o.Logger.WarnContext(ctx, "the store does not say whether the run is still ours, asking again",
			"runId", r.o.RunID, "error", err)
		if ctx.Err() != nil || clock.Sleep(r.ctx, r.e.o.Clock, fenceRetry) != nil {
			return err
		}
	}
}
