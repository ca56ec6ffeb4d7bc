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
	// Renew asks the store, at most until the lease has run out: then its context
	// ends. A *LostError ends the claim at once, any other error is tried again.
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
	// Most claims end before their first renewal: until then there is a timer and
	// no goroutine.
	prevent := clock.AfterFunc(r.Clock, min(r.Every, r.Lasts), func() {
		defer close(done)
		cancel(r.run(loop, held))
	})
	return ctx, sync.OnceFunc(func() {
		end()
		if !prevent() {
			<-done
		}
		cancel(context.Canceled)
	})
}

// run renews a lease that holds since a moment, until the claim is lost or ctx
// ended, and returns why. It begins when the first renewal is due.
func (r Renewal) run(ctx context.Context, held time.Time) (err error) {
	for due := true; err == nil; due = false {
		held, err = r.extend(ctx, held, due)
	}
	return err
}

// errUnrenewed loses a claim that was not renewed in time.
var errUnrenewed = &LostError{What: "a row that could not be renewed", Reason: Expired}

// extend renews the lease that holds since a moment once, now or when it is due,
// and returns the moment since which the new one holds.
func (r Renewal) extend(ctx context.Context, held time.Time, due bool) (time.Time, error) {
	ctx, cancel := clock.WithTimeoutCause(ctx, r.Clock, r.Lasts-r.Clock.Now().Sub(held), errUnrenewed)
	defer cancel()
	for ; ; due = false {
		if !due {
			if err := clock.Sleep(ctx, r.Clock, r.Every); err != nil {
				return held, err
			}
		}
		asked := r.Clock.Now()
		if asked.Sub(held) >= r.Lasts {
			return held, errUnrenewed
		}
		if err := r.Renew(ctx); err == nil || errors.Is(err, ErrLost) {
			return asked, err
		}
	}
}
