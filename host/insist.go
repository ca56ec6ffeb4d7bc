package host

import (
	"context"
	"errors"
	"log/slog"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/lease"
)

// insist tries an operation of the store again while the store fails and the
// claim on the run is held: what a run came to must not be lost because a disk
// was full for a moment. Once stop has ended it gives up after one failure, for
// the next owner sees what there is.
func insist(stop, held context.Context, c clock.Clock, log *slog.Logger, operation func() error) error {
	waiting, cancel := context.WithCancel(held)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	for {
		err := operation()
		if err == nil || errors.Is(err, lease.ErrLost) || refused(err) || ended(stop) {
			return err
		}
		log.Error("the store failed, trying again", "error", err)
		_ = clock.Sleep(waiting, c, storeRetry) // a stop that comes now is worth one more try
		if ended(held) {
			return err
		}
	}
}

// refused reports whether the store will never take what it was given.
func refused(err error) bool {
	_, over := errors.AsType[*controller.LimitError](err)
	_, malformed := errors.AsType[*canonical.Error](err)
	return over || malformed
}
