package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/schedule"
)

func (b *bench) wantNotes(want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.notes("k")); diff != "" {
		b.Errorf("notes (-want +got):\n%s", diff)
	}
}

// The clock begins on 5 January 2027 at 08:15.
func TestAScheduleWakesItsKeysAtItsTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, schedule.Options{Every: 10 * time.Minute, Keys: schedule.Keys("k", "no such key")}, "k", "other")
	b.start()
	b.wantNotes()
	if want := clocktest.Epoch.Add(5 * time.Minute); !b.next.Equal(want) {
		t.Errorf("the next slot is said to be %s, want %s", b.next, want)
	}
	b.advance(5 * time.Minute)
	b.wantNotes("slot 2027-01-05T08:20:00Z")
	for range 9 { // by minutes: nothing comes between
		b.advance(time.Minute)
	}
	b.wantNotes("slot 2027-01-05T08:20:00Z")
	b.advance(time.Minute)
	b.wantNotes("slot 2027-01-05T08:20:00Z", "slot 2027-01-05T08:30:00Z")
	b.stop()
	if got := b.notes("other"); got != nil {
		t.Errorf("another key was woken: %v", got)
	}
}

func TestMissedSlots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catchUp schedule.CatchUp
		away    time.Duration
		want    []string
		refused []string
	}{
		"the last one is caught up with": {
			schedule.Latest, 3*time.Hour + 20*time.Minute, []string{"slot 2027-01-05T11:00:00Z, 2 before it missed"}, nil,
		},
		"that is so unless said otherwise": {"", 2 * time.Hour, []string{"slot 2027-01-05T10:00:00Z, 1 before it missed"}, nil},
		"none is":                          {schedule.None, 3*time.Hour + 20*time.Minute, nil, []string{"missed 3, the last at 2027-01-05T11:00:00Z"}},
		"one within the grace is not missed": {
			schedule.None, 2*time.Hour + 46*time.Minute, []string{"slot 2027-01-05T11:00:00Z, 2 before it missed"}, nil,
		},
		"nothing was missed": {schedule.None, 40 * time.Minute, nil, nil},
	} {
		for how, away := range map[string]func(b *bench){
			"no host ran":               func(b *bench) { b.stop(); b.clock.Advance(c.away); b.start() },
			"the clock was set on":      func(b *bench) { b.advance(c.away) },
			"the machine was suspended": func(b *bench) { b.sleep(c.away - time.Minute); b.advance(time.Minute) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, schedule.Options{Cron: "@hourly", CatchUp: c.catchUp, Keys: schedule.Keys("k")}, "k")
				b.start()
				away(b)
				b.wantNotes(c.want...)
				b.stop()
				if diff := cmp.Diff(c.refused, b.source.Refused()); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
				b.start() // nothing comes again
				b.wantNotes(c.want...)
				b.stop()
			})
		}
	}
}

func TestTheJitterIsTheSameForOneSourceAndOneSeed(t *testing.T) {
	t.Parallel()
	first := func(seed string) time.Duration {
		b := newBench(t, schedule.Options{Every: time.Hour, Jitter: 30 * time.Minute, Seed: seed, Keys: schedule.Keys("k")}, "k")
		b.start()
		for range 3600 {
			b.advance(time.Second)
		}
		b.stop()
		events, err := b.store.Events(t.Context(), controller.EventQuery{Controller: owner, Limit: 1})
		b.must(err)
		return events[0].RecordedAt.Sub(clocktest.Epoch.Truncate(time.Hour)) % time.Hour
	}
	a, again, b := first("a"), first("a"), first("b")
	if a != again || a == b || max(a, b) >= 30*time.Minute {
		t.Errorf("delays of %s, %s with the same seed and %s with another", a, again, b)
	}
}

func TestAClockThatWasSetBackDoesNotStopASchedule(t *testing.T) {
	t.Parallel()
	b := newBench(t, schedule.Options{Cron: "@hourly", Keys: schedule.Keys("k")}, "k")
	_, err := b.store.Deliver(t.Context(), owner, controller.Delivery{Source: "times", Cursor: "2037-01-05T09:00:00Z"})
	b.must(err)
	b.start()
	b.advance(45 * time.Minute)
	b.wantNotes("slot 2027-01-05T09:00:00Z")
	b.stop()
	if failed := b.source.Failed(); len(failed) != 1 || !strings.Contains(failed[0].Error(), "the clock was set back from 2037-01-05T09:00:00.000Z") {
		t.Errorf("failed: %v", failed)
	}
}

func TestASmallCorrectionOfTheClockRepeatsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, schedule.Options{Every: time.Minute, Keys: schedule.Keys("k")}, "k")
	_, err := b.store.Deliver(t.Context(), owner, controller.Delivery{Source: "times", Cursor: "2027-01-05T08:17:00Z"})
	b.must(err)
	b.start()
	b.advance(time.Minute)
	b.advance(time.Minute)
	b.wantNotes()
	b.advance(time.Minute)
	b.wantNotes("slot 2027-01-05T08:18:00Z")
	b.stop()
}

func TestASlotWhoseKeysAreNotFoundComesAgain(t *testing.T) {
	t.Parallel()
	down := errors.New("the forge is down")
	var asked int
	b := newBench(t, schedule.Options{Cron: "@hourly", Keys: func(context.Context, schedule.Slot) ([]string, error) {
		if asked++; asked == 1 {
			return nil, down
		}
		return []string{"k"}, nil
	}}, "k")
	b.start()
	b.clock.Advance(50 * time.Minute)
	if err := b.source.Ended(); !errors.Is(err, down) {
		t.Fatalf("Run = %v", err)
	}
	b.start()
	b.wantNotes("slot 2027-01-05T09:00:00Z")
	b.stop()
}

func TestEveryResourceIsWoken(t *testing.T) {
	t.Parallel()
	b := newBench(t, schedule.Options{Cron: "@hourly", Keys: schedule.EveryResource}, "k", "l")
	_, err := b.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "other", Key: "k"}, Spec: []byte(`{}`)})
	b.must(err)
	b.start()
	b.advance(time.Hour)
	b.stop()
	if len(b.notes("k")) != 1 || len(b.notes("l")) != 1 {
		t.Errorf("woken: %v, %v", b.notes("k"), b.notes("l"))
	}
}

func TestMoreKeysThanOneDeliveryTakes(t *testing.T) {
	t.Parallel()
	keys := make([]string, controller.MaxDeliveryKeys, controller.MaxDeliveryKeys+1)
	b := newBench(t, schedule.Options{Cron: "@hourly", Keys: schedule.Keys(append(keys, "k")...)}, "k")
	b.start()
	b.advance(time.Hour)
	b.stop()
	b.wantNotes("slot 2027-01-05T09:00:00Z")
}

func TestADamagedCursorIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, schedule.Options{Cron: "@hourly", Keys: schedule.Keys("k")})
	_, err := b.store.Deliver(t.Context(), owner, controller.Delivery{Source: "times", Cursor: "yesterday"})
	b.must(err)
	b.source = b.kit.Source("times")
	if err := b.source.Ended(); err == nil || !strings.Contains(err.Error(), "read the cursor") {
		t.Errorf("Run = %v", err)
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	t.Parallel()
	keys := schedule.Keys("k")
	for want, o := range map[string]schedule.Options{
		"give one of Every and Cron":          {Keys: keys},
		"give one of Every and Cron\n":        {Every: time.Hour, Cron: "@daily", Keys: keys, CatchUp: "all"},
		"Every is less than a second":         {Every: time.Millisecond, Keys: keys},
		"Zone is for Cron":                    {Every: time.Hour, Zone: "Europe/Vienna", Keys: keys},
		`Zone "Europe/Atlantis" is not known`: {Cron: "@daily", Zone: "Europe/Atlantis", Keys: keys},
		"Local differs from machine":          {Cron: "@daily", Zone: "Local", Keys: keys},
		"CatchUp is neither":                  {Cron: "@daily", CatchUp: "all", Keys: keys},
		"Jitter is not between":               {Cron: "@daily", Jitter: 25 * time.Hour, Keys: keys},
		"Jitter is not less than Every":       {Every: time.Minute, Jitter: time.Minute, Keys: keys},
		"no Keys":                             {Cron: "@daily"},
		`the cron expression "often" has 1`:   {Cron: "often", Keys: keys},
	} {
		s := schedule.New("times", o)
		for _, err := range []error{s.Check(owner), s.Run(t.Context(), controller.Intake{})} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v; want %q in it", o, err, want)
			}
		}
	}
}
