// Package clock gives every room one injectable source of time, so that
// deadlines, leases and backoff are tested without waiting.
package clock

import (
	"context"
	"sync/atomic"
	"time"
)

// Layout is how a time is written at every border: UTC, exactly three
// fractional digits, Z. Readers sort such texts as strings.
const Layout = "2006-01-02T15:04:05.000Z"

// Clock tells the time and makes timers. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now returns the present time. Callers convert to UTC at a border only.
	Now() time.Time
	// NewTimer returns a timer that sends once on its channel after d.
	NewTimer(d time.Duration) Timer
}

// Timer is one pending wake-up.
type Timer interface {
	// C returns the channel that receives the time at which the timer fired.
	C() <-chan time.Time
	// Stop prevents the timer from firing and reports whether it was pending.
	Stop() bool
}

// System returns the machine's clock.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.Timer.C }

// Format writes t as Layout in UTC.
func Format(t time.Time) string { return t.UTC().Format(Layout) }

// WithTimeoutCause returns a context that ends with the given cause once d has
// passed on c. The cancel function releases the timer; call it always. A
// duration of zero or less ends the context at once.
func WithTimeoutCause(parent context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	if d <= 0 {
		cancel(cause)
		return ctx, func() {}
	}
	if c == System() { // it needs no goroutine to wait
		timer := time.AfterFunc(d, func() { cancel(cause) })
		return ctx, func() {
			cancel(context.Canceled)
			timer.Stop()
		}
	}
	timer := c.NewTimer(d)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-timer.C():
			cancel(cause)
		case <-ctx.Done():
			timer.Stop()
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// AfterFunc calls f in a goroutine of its own once d has passed on c. The function
// that it returns prevents that and reports whether it did; it does not wait for
// an f that has begun. Call it always: it releases the timer.
func AfterFunc(c Clock, d time.Duration, f func()) (stop func() bool) {
	if c == System() { // it needs no goroutine to wait
		return time.AfterFunc(d, f).Stop
	}
	timer := c.NewTimer(d)
	quit := make(chan struct{})
	var decided atomic.Bool
	go func() {
		select {
		case <-timer.C():
			if decided.CompareAndSwap(false, true) {
				f()
			}
		case <-quit:
		}
	}()
	return func() bool {
		prevented := decided.CompareAndSwap(false, true)
		if prevented {
			timer.Stop()
			close(quit)
		}
		return prevented
	}
}

// Sleep waits until d has passed on c or ctx ended, and returns the cause of
// the latter.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
