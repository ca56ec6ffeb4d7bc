package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/runqueue"
)

// claims takes rows of runs out of the queue.
type claims struct {
	store runqueue.Store
	clock clock.Clock
	log   *slog.Logger
	lasts time.Duration
	// failed is told of errors of the store.
	failed func(error)
}

// next blocks until it has claimed a row; nil once ctx ended. dry hears
// whether there is nothing to claim.
func (c claims) next(ctx context.Context, q runqueue.ClaimQuery, dry func(is bool)) *runqueue.Claim {
	for ctx.Err() == nil {
		claim, err := c.store.ClaimRun(ctx, q, c.lasts)
		if claim != nil {
			return claim
		}
		if err == nil {
			dry(true)
			err = c.store.WaitRuns(ctx, q)
			dry(false)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Error("claim a run", "error", err)
			c.failed(err)
			_ = clock.Sleep(ctx, c.clock, storeRetry)
		}
	}
	return nil
}

// inParallel executes what next gives, so many at once, until next gives nil, and
// waits for all of it.
func inParallel(ctx context.Context, limit int, next func() *runqueue.Claim, execute func(*runqueue.Claim)) {
	var active sync.WaitGroup
	defer active.Wait()
	slots := make(chan struct{}, limit)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		claim := next()
		if claim == nil {
			return
		}
		active.Go(func() {
			defer func() { <-slots }()
			execute(claim)
		})
	}
}
