package host

import (
	"context"
	"errors"
	"log/slog"

	"piworkflows/clock"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// watchCancel returns a channel that is closed once somebody wants the run of a
// claim to be cancelled, and a function that ends the watch.
func watchCancel(
	held context.Context, store runqueue.Store, c clock.Clock, log *slog.Logger, claim *runqueue.Claim,
) (wanted <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(held)
	asked, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if awaitCancel(ctx, store, c, log, claim) {
			close(asked)
		}
	}()
	return asked, func() {
		cancel()
		<-done
	}
}

// awaitCancel reports whether the run is to be cancelled; false if ctx or the claim
// ended before.
func awaitCancel(ctx context.Context, store runqueue.Store, c clock.Clock, log *slog.Logger, claim *runqueue.Claim) bool {
	for {
		reason, err := store.WaitCancel(ctx, claim)
		switch {
		case err == nil:
			log.Info("the run is to be cancelled", "runId", claim.Row.RunID, "reason", reason)
			return true
		case ctx.Err() != nil || errors.Is(err, lease.ErrLost):
			return false
		}
		log.Error("the store failed, trying again", "runId", claim.Row.RunID, "error", err)
		if clock.Sleep(ctx, c, storeRetry) != nil {
			return false
		}
	}
}
