package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
)

var errDeadline = errors.New("deadline")

func TestFormatHasThreeDigitsAndZ(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("x", 2*3600)
	got := clock.Format(time.Date(2027, 1, 5, 10, 0, 0, 120_999_999, zone))
	if want := "2027-01-05T08:00:00.120Z"; got != want {
		t.Fatalf("Format = %q, want %q", got, want)
	}
}

func TestWithTimeoutCauseEndsWithTheCause(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	ctx, cancel := clock.WithTimeoutCause(t.Context(), c, time.Minute, errDeadline)
	defer cancel()
	c.Advance(59 * time.Second)
	if ctx.Err() != nil {
		t.Fatal("ended before its time")
	}
	c.Advance(time.Second)
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errDeadline) {
		t.Fatalf("cause = %v", context.Cause(ctx))
	}
}

func TestWithTimeoutCauseOfZeroEndsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := clock.WithTimeoutCause(t.Context(), clock.System(), 0, errDeadline)
	defer cancel()
	if !errors.Is(context.Cause(ctx), errDeadline) {
		t.Fatalf("cause = %v", context.Cause(ctx))
	}
}

func TestCancelReleasesTheTimer(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	_, cancel := clock.WithTimeoutCause(t.Context(), c, time.Minute, errDeadline)
	if err := c.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.AwaitTimers(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func TestSleepReturnsTheCauseOfItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errDeadline)
	if err := clock.Sleep(ctx, clocktest.New(), time.Hour); !errors.Is(err, errDeadline) {
		t.Fatalf("Sleep = %v", err)
	}
	if err := clock.Sleep(t.Context(), clocktest.New(), 0); err != nil {
		t.Fatalf("Sleep(0) = %v", err)
	}
}
