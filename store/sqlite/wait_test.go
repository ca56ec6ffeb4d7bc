package sqlite_test

import (
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// waitOn starts to wait and returns once the store sleeps on its clock.
func waitOn(t *testing.T, s *sqlite.Store, manual *clocktest.Manual) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.WaitDue(t.Context(), []string{"c"}) }()
	if err := manual.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return ended
}

func TestWaitSleepsUntilADelayEnds(t *testing.T) {
	t.Parallel()
	o := options(t)
	manual := o.Clock.(*clocktest.Manual)
	s := open(t, o)
	put(t, s, "a")
	if _, err := s.Finish(t.Context(), claim(t, s), controller.Finish{After: time.Minute}); err != nil {
		t.Fatal(err)
	}
	ended := waitOn(t, s, manual)
	manual.Advance(time.Minute)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if claim(t, s) == nil {
		t.Error("waiting ended and nothing is due")
	}
}

func TestWaitSleepsUntilAClaimExpires(t *testing.T) {
	t.Parallel()
	o := options(t)
	manual := o.Clock.(*clocktest.Manual)
	s := open(t, o)
	put(t, s, "a")
	claim(t, s)
	ended := waitOn(t, s, manual)
	manual.Advance(lasts)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if claim(t, s) == nil {
		t.Error("waiting ended and nothing is due")
	}
}

// A wait that ended leaves no timer behind.
func TestWaitLeavesNoTimer(t *testing.T) {
	t.Parallel()
	o := options(t)
	manual := o.Clock.(*clocktest.Manual)
	s := open(t, o)
	put(t, s, "a")
	claim(t, s)
	ended := waitOn(t, s, manual)
	put(t, s, "b")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := manual.AwaitTimers(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}
