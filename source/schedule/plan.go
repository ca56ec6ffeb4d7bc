package schedule

import "time"

// plan knows the slots of a schedule. Slots are instants in UTC.
type plan interface {
	// next returns the first slot after an instant; zero if there is none.
	next(after time.Time) time.Time
	// latest returns the last slot that is after one instant and not after
	// another, and how many there are before it; zero if there is none.
	latest(after, now time.Time) (slot time.Time, earlier int64)
}

// interval has its slots where the time since 1970 is a multiple, so that they
// are the same after every start.
type interval time.Duration

func (i interval) next(after time.Time) time.Time { return i.at(after).Add(time.Duration(i)) }

func (i interval) latest(after, now time.Time) (time.Time, int64) {
	slot, first := i.at(now), i.next(after)
	if slot.Before(first) {
		return time.Time{}, 0
	}
	return slot, int64(slot.Sub(first) / time.Duration(i))
}

// at returns the slot at or before an instant.
func (i interval) at(t time.Time) time.Time {
	since := t.UnixNano()
	over := since % int64(i)
	if over < 0 {
		over += int64(i)
	}
	return time.Unix(0, since-over).UTC()
}

// calendar has the slots of a cron expression in a zone.
type calendar struct {
	expression expression
	zone       *time.Location
}

func (c calendar) next(after time.Time) time.Time { return c.expression.nextIn(c.zone, after) }

// countedYear bounds how far back slots are counted one by one.
const countedYear = 366 * 24 * time.Hour

func (c calendar) latest(after, now time.Time) (slot time.Time, earlier int64) {
	from := after
	if year := now.Add(-countedYear); from.Before(year) {
		from = year
	}
	if slot, earlier = c.count(from, now); slot.IsZero() && from != after {
		return c.count(after, now) // there are few, so they are far apart
	}
	return slot, earlier
}

func (c calendar) count(after, now time.Time) (slot time.Time, earlier int64) {
	for next := c.next(after); !next.IsZero() && !next.After(now); next = c.next(next) {
		if !slot.IsZero() {
			earlier++
		}
		slot = next
	}
	return slot, earlier
}
