package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"piworkflows/clock"
)

// Renewal says how Keep renews one claim.
type Renewal struct {
	// Clock measures the period and the expiry; never nil.
	Clock clock.Clock
	// Every is the time between renewals; DefaultRenewal if zero.
	Every time.Duration
	// Lasts is how long a successful renewal holds, counted on Clock from the
	// moment before it was asked for; DefaultDuration if zero.
	Lasts time.Duration
	// Renew asks the store. A *LostError ends the claim at once, any other
	// error is tried again until the lease has run out.
	Renew func(ctx context.Context) error
}

// Keep renews a claim until stop is called. The returned context ends with a
// *LostError as its cause once the claim is lost. stop waits for the loop and
// may be called more than once; after it the claim is not renewed any more.
func Keep(parent context.Context, r Renewal) (ctx context.Context, stop func()) {
	if r.Every == 0 {
		r.Every = DefaultRenewal
	}
	if r.Lasts == 0 {
		r.Lasts = DefaultDuration
	}
	ctx, cancel := context.WithCancelCause(parent)
	loop, end := context.WithCancel(ctx)
	done := make(chan struct{})
	held := r.Clock.Now()
	go func() {
		defer close(done)
		if err := r.run(loop, held); err != nil {
			cancel(err)
		}
	}()
	return ctx, sync.OnceFunc(func() {
		end()
		<-done
		cancel(context.Canceled)
	})
}

// run renews until ctx ends, and returns the error that lost the claim.
func (r Renewal) run(ctx context.Context, held time.Time) error {
	for {
		if clock.Sleep(ctx, r.Clock, r.Every) != nil {
			return nil
		}
		asked := r.Clock.Now()
		err := r.Renew(ctx)
		switch {
		case err == nil:
			held = asked
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost):
			return err
		case r.Clock.Now().Sub(held) >= r.Lasts:
			return &LostError{What: "a row that could not be renewed", Reason: Expired}
		}
	}
}
