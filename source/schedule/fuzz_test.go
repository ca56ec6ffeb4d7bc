package schedule

import (
	"testing"
	"time"
)

// FuzzExpression: whatever is taken as an expression has a slot within the bound
// of the search, later than the one before, at a time that matches or at a change
// of the clock.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"* * * * *", "*/7 1-3 29 2 *", "0 0 31 1,3-5 MON", "@daily", "5/9 */5 1-31/3 */2 5-7", "0 0 * * 7"} {
		f.Add(text, int64(1_800_000_000))
	}
	zones := []*time.Location{time.UTC, vienna(f)}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		e, err := parse(text)
		if err != nil {
			return
		}
		after := time.Unix(at%4_000_000_000, 0) // the years 1843 to 2096
		for _, zone := range zones {
			slot := e.nextIn(zone, after)
			if slot.IsZero() {
				t.Fatalf("%q has no slot after %s in %s", text, after, zone)
			}
			if !slot.After(after) {
				t.Fatalf("%q: the slot %s is not after %s", text, slot, after)
			}
			local := slot.In(zone)
			matches := e.minute.has(local.Minute()) && e.hour.has(local.Hour()) && e.onDay(local)
			start, _ := local.ZoneBounds()
			if !matches && !start.Equal(slot) {
				t.Fatalf("%q: the slot %s neither matches nor is a change of the clock", text, local)
			}
		}
	})
}

func vienna(f *testing.F) *time.Location {
	f.Helper()
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		f.Fatal(err)
	}
	return zone
}
