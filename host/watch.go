package host

import (
	"context"
	"log/slog"

	"piworkflows/clock"
	"piworkflows/runqueue"
)

// watchRow lets hear of a row as it is and of each change of it, until the claim
// or the watch ends: stop ends it, and waits until nothing is heard any more.
func watchRow(
	held context.Context, store runqueue.Store, c clock.Clock, log *slog.Logger, row runqueue.Row, hear func(runqueue.Row),
) (stop func()) {
	ctx, cancel := context.WithCancel(held)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			hear(row)
			row = awaitRow(ctx, store, c, log, row)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// awaitRow returns the row once it has changed, or as it was once ctx ended.
func awaitRow(ctx context.Context, store runqueue.Store, c clock.Clock, log *slog.Logger, seen runqueue.Row) runqueue.Row {
	for ctx.Err() == nil {
		now, err := store.AwaitRun(ctx, seen)
		if err == nil {
			return now
		}
		if ctx.Err() == nil {
			log.Error("the store failed, trying again", "runId", seen.RunID, "error", err)
			_ = clock.Sleep(ctx, c, storeRetry)
		}
	}
	return seen
}
