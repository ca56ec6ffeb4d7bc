package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/source/schedule"
)

// TestAYearInTwoZones runs a schedule for a year with both changes of the clock,
// by half an hour at a time, stopped and started every so often, with days on
// which no host ran and days on which the machine was suspended. The clock is
// injected: there is no wait in it.
func TestAYearInTwoZones(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ zone, spring, after, autumn string }{
		"Vienna":   {"Europe/Vienna", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00", "2027-10-31T02:30:00+02:00"},
		"New York": {"America/New_York", "2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00", "2027-11-07T02:30:00-05:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, schedule.Options{Cron: "30 2 * * *", Zone: c.zone, Keys: schedule.Keys("k")}, "k")
			b.start()
			live(b, clocktest.Epoch.AddDate(1, 0, 0))
			b.stop()

			notes := b.notes("k")
			days, breaks := 0, 0
			for i, note := range notes {
				day, rest, _ := strings.Cut(strings.TrimPrefix(note, "slot "), ",")
				days++
				if rest != "" {
					var missed int
					_, err := fmt.Sscanf(rest, "%d before it missed", &missed)
					b.must(err)
					days += missed
					breaks++
				}
				if i > 0 && day[:len("2027-01-05")] <= strings.TrimPrefix(notes[i-1], "slot ")[:len("2027-01-05")] {
					t.Errorf("%q comes after %q", note, notes[i-1])
				}
			}
			if days != 365 || breaks != 4 {
				t.Errorf("%d slots came or were missed, want one each day; %d times some were missed, want 4", days, breaks)
			}
			for _, want := range []string{c.spring, c.after, c.autumn} {
				if !slices.Contains(notes, "slot "+want) {
					t.Errorf("there was no slot %s", want)
				}
			}
		})
	}
}

// live lets time pass until the end.
func live(b *bench, end time.Time) {
	b.Helper()
	const step = 30 * time.Minute
	for n := 1; (sleeper{b}).Now().Before(end); n++ {
		b.advance(step)
		switch {
		case n%700 == 0: // about every two weeks the host starts again
			b.stop()
			b.clock.Advance(step)
			b.start()
		case n == 2000 || n == 9000: // the machine sleeps
			b.sleep(3 * 24 * time.Hour)
		case n == 5000 || n == 13000: // no host runs
			b.stop()
			b.clock.Advance(3 * 24 * time.Hour)
			b.start()
		}
	}
}
