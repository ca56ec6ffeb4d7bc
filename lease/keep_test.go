package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// renewals drives a Keep loop: each tick of the manual clock is one renewal.
type renewals struct {
	clock *clocktest.Manual
	asked chan struct{}
	reply chan error
	ticks int
}

func keep(t *testing.T) (*renewals, context.Context) {
	t.Helper()
	r := &renewals{clock: clocktest.New(), asked: make(chan struct{}), reply: make(chan error)}
	ctx, stop := lease.Keep(t.Context(), lease.Renewal{
		Clock: r.clock,
		Renew: func(context.Context) error {
			r.asked <- struct{}{}
			return <-r.reply
		},
	})
	t.Cleanup(stop)
	return r, ctx
}

// waits returns once the loop waits for the next renewal, and from the second on
// for the end of the lease.
func (r *renewals) waits(t *testing.T) {
	t.Helper()
	if err := r.clock.AwaitTimers(t.Context(), min(2, 1+r.ticks)); err != nil {
		t.Fatal(err)
	}
}

func (r *renewals) tick(t *testing.T, d time.Duration, reply error) {
	t.Helper()
	r.waits(t)
	r.ticks++
	r.clock.Advance(d)
	<-r.asked
	r.reply <- reply
}

func TestKeepSurvivesFailedRenewalsUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	r, ctx := keep(t)
	r.tick(t, lease.DefaultRenewal, busy)
	r.tick(t, lease.DefaultRenewal, nil)
	r.tick(t, lease.DefaultRenewal, busy)
	r.tick(t, lease.DefaultRenewal, busy)
	if ctx.Err() != nil {
		t.Fatal("lost while the lease still held")
	}
	r.waits(t)
	r.clock.Advance(lease.DefaultRenewal)
	<-ctx.Done()
	var lost *lease.LostError
	if !errors.As(context.Cause(ctx), &lost) || lost.Reason != lease.Expired {
		t.Fatalf("cause = %v, want an expired lease", context.Cause(ctx))
	}
}

// A store that does not answer must not make anybody believe in a lease that
// ended meanwhile.
func TestARenewalThatHangsLosesTheClaimWithItsLease(t *testing.T) {
	t.Parallel()
	manual := clocktest.New()
	asked := make(chan struct{})
	ctx, stop := lease.Keep(t.Context(), lease.Renewal{Clock: manual, Renew: func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}})
	defer stop()
	if err := manual.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	manual.Advance(lease.DefaultRenewal)
	<-asked
	manual.Advance(lease.DefaultDuration - lease.DefaultRenewal)
	<-ctx.Done()
	if lost, ok := errors.AsType[*lease.LostError](context.Cause(ctx)); !ok || lost.Reason != lease.Expired {
		t.Errorf("cause = %v", context.Cause(ctx))
	}
}

func TestKeepEndsAtOnceWhenTheClaimIsTaken(t *testing.T) {
	t.Parallel()
	r, ctx := keep(t)
	r.tick(t, lease.DefaultRenewal, &lease.LostError{What: "c/k", Reason: lease.Taken})
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), lease.ErrLost) {
		t.Fatalf("cause = %v", context.Cause(ctx))
	}
}

func TestStopEndsTheLoopAndIsRepeatable(t *testing.T) {
	t.Parallel()
	manual := clocktest.New()
	ctx, stop := lease.Keep(t.Context(), lease.Renewal{Clock: manual, Renew: func(context.Context) error {
		t.Error("renewed after stop")
		return nil
	}})
	if err := manual.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stop()
	stop()
	manual.Advance(time.Hour)
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Fatalf("cause = %v", context.Cause(ctx))
	}
}
