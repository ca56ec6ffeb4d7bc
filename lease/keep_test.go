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

func (r *renewals) tick(t *testing.T, d time.Duration, reply error) {
	t.Helper()
	if err := r.clock.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
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
	r.tick(t, lease.DefaultRenewal, busy)
	<-ctx.Done()
	var lost *lease.LostError
	if !errors.As(context.Cause(ctx), &lost) || lost.Reason != lease.Expired {
		t.Fatalf("cause = %v, want an expired lease", context.Cause(ctx))
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
