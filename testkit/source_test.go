package testkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/testkit"
)

// ticker delivers its cursor and one x more every minute, until it has three.
type ticker struct{}

func (ticker) Name() string { return "ticker" }

func (ticker) Run(ctx context.Context, in controller.Intake) error {
	for cursor := in.Cursor; ; cursor += "x" {
		switch cursor {
		case "x":
			in.Refused("wrong")
			in.Failed(errors.New("broken"))
			in.Degraded("slow")
		case "xxx":
			return errors.New("that is enough")
		}
		if err := clock.Sleep(ctx, in.Clock, time.Minute); err != nil {
			return err
		}
		if _, err := in.Deliver(ctx, controller.Delivery{Cursor: cursor + "x", Keys: []string{"k", "unknown"}}); err != nil {
			return err
		}
	}
}

func TestASourceRunsOnTheClockOfTheKit(t *testing.T) {
	t.Parallel()
	d := define(answering(controller.Settled(nothing), nil))
	d.Sources = []controller.Source{ticker{}}
	k := testkit.New(t, testkit.Options{Definition: d})
	r := k.Apply("k", nil)
	k.Settle()
	s := k.Source("ticker")
	s.Waits()
	k.Clock.Advance(time.Minute)
	if got := s.Await(); got.Source != "ticker" || got.Cursor != "x" || got.Enqueued != 1 || got.Unknown != 1 {
		t.Errorf("delivered %+v", got)
	}
	r.WantDue()
	s.Waits()
	if err := s.Stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	if s.Degraded() != "slow" || len(s.Refused()) != 1 || len(s.Failed()) != 1 {
		t.Errorf("it said %q, %v, %v", s.Degraded(), s.Refused(), s.Failed())
	}

	s = k.Source("ticker") // it goes on from its cursor
	for _, want := range []string{"xx", "xxx"} {
		s.Waits()
		k.Clock.Advance(time.Minute)
		if got := s.Await(); got.Cursor != want {
			t.Errorf("delivered %+v, want the cursor %s", got, want)
		}
	}
	if err := s.Ended(); err == nil || err.Error() != "that is enough" {
		t.Errorf("Run = %v", err)
	}
}

func TestASourceThatIsNotThereOrEndsFailsTheTest(t *testing.T) {
	t.Parallel()
	d := define(answering(controller.Settled(nothing), nil))
	d.Sources = []controller.Source{ticker{}}
	for want, run := range map[string]func(k *testkit.Kit){
		`the controller c has no source "clock"`: func(k *testkit.Kit) { k.Source("clock") },
		"the source ticker ended, and delivered nothing more: that is enough": func(k *testkit.Kit) {
			_, err := k.Store().Deliver(context.Background(), "c", controller.Delivery{Source: "ticker", Cursor: "xxx"})
			if err != nil {
				t.Error(err)
			}
			k.Source("ticker").Await()
		},
	} {
		got := record(func(s testkit.T) { run(testkit.New(s, testkit.Options{Definition: d})) })
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("the test says %q, want %q", got, want)
		}
	}
}
