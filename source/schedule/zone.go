package schedule

import (
	"time"
	_ "time/tzdata" // a machine without zone files has the zones, too
)

// farthest bounds the search for the next slot: the years 2096 to 2104 have no
// 29 February between them.
const farthest = 9 * 366 * 24 * time.Hour

// next returns the first slot of the expression after an instant; zero if there
// is none within farthest.
//
// A zone is a row of periods with a constant offset. Within one, the times of its
// clocks are those of a calendar without zones. Where two meet, some times of the
// clock do not exist or exist twice:
//
//   - An expression for every hour follows the time that passes: it has no slot at
//     a time that does not exist, and two at a time that exists twice.
//   - Any other one names times of the day, each of which has its slot once: at the
//     first of two, and at the change of the clock if it does not exist.
func (e expression) nextIn(zone *time.Location, after time.Time) time.Time {
	limit := after.Add(farthest)
	from := after.Add(time.Nanosecond) // the first instant that may be a slot
	for from.Before(limit) {
		p := periodAt(zone, from)
		end := limit
		if !p.end.IsZero() && p.end.Before(limit) {
			end = p.end
		}
		begin := p.local(from)
		if !e.wildHour() && begin.Before(p.repeatedUntil) {
			begin = p.repeatedUntil
		}
		if slot := e.next(begin, p.local(end)); !slot.IsZero() {
			return slot.Add(-p.offset)
		}
		if end.Equal(limit) {
			return time.Time{}
		}
		if !e.wildHour() && e.inGap(p, periodAt(zone, end)) {
			return end
		}
		from = end
	}
	return time.Time{}
}

// inGap reports whether a slot is among the times that the clock leaves out
// between two periods.
func (e expression) inGap(before, after period) bool {
	end := before.end
	return !e.next(before.local(end), after.local(end)).IsZero()
}

// period is a time during which a zone has one offset.
type period struct {
	end    time.Time
	offset time.Duration
	// repeatedUntil is the local time until which the clock shows what it showed
	// before; zero if it was not set back at the beginning.
	repeatedUntil time.Time
}

func periodAt(zone *time.Location, t time.Time) period {
	start, end := t.In(zone).ZoneBounds()
	p := period{offset: offsetAt(zone, t)}
	if !end.IsZero() {
		p.end = end.UTC()
	}
	if !start.IsZero() {
		if before := offsetAt(zone, start.Add(-time.Nanosecond)); before > p.offset {
			p.repeatedUntil = start.UTC().Add(before)
		}
	}
	return p
}

func offsetAt(zone *time.Location, t time.Time) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// local is what the clocks of the period show, written as UTC.
func (p period) local(t time.Time) time.Time { return t.UTC().Add(p.offset) }
