package schedule

import (
	"context"
	"fmt"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// lookEvery bounds one wait: the timers of a machine stand still while it is
// suspended, and nothing tells when its clock is set.
const lookEvery = time.Minute

// setBack is how far the cursor may be ahead of the clock. More than that, the
// clock was wrong when it was written, and waiting for it could take years.
const setBack = time.Hour

// Run implements controller.Source. The cursor is the instant of the last slot
// that is done with. There is one delivery at a time, so slots never overlap, and
// a key whose pass still runs is passed over until it ends, as with every wake-up.
func (s *Source) Run(ctx context.Context, in controller.Intake) error {
	if s.wrong != nil {
		return s.wrong
	}
	r := runner{Source: s, in: in, offset: s.offset(in.Controller)}
	last, err := r.begin(ctx)
	for err == nil {
		last, err = r.step(ctx, last)
	}
	return err
}

// runner is one run of a source.
type runner struct {
	*Source
	in     controller.Intake
	offset time.Duration
}

// now is the instant of the slot that would be due now, without a monotonic
// reading: slots are times of the wall clock.
func (r runner) now() time.Time { return r.in.Clock.Now().Round(0).UTC().Add(-r.offset) }

// begin returns the last slot that is done with. At the very first start this is
// the present, kept so that the slots after it can be missed.
func (r runner) begin(ctx context.Context) (time.Time, error) {
	if r.in.Cursor == "" {
		now := r.now().Truncate(time.Second)
		return now, r.deliver(ctx, controller.Delivery{Cursor: cursorOf(now)})
	}
	last, err := time.Parse(time.RFC3339, r.in.Cursor)
	if err != nil {
		return last, fmt.Errorf("read the cursor of the schedule: %w", err)
	}
	return last.UTC(), nil
}

// step delivers a slot if one is due, or waits for it.
func (r runner) step(ctx context.Context, last time.Time) (time.Time, error) {
	now := r.now()
	if last.Sub(now) > setBack {
		r.in.Failed(fmt.Errorf("the clock was set back from %s or more: the schedule goes on from now", clock.Format(last)))
		last = now
	}
	slot, earlier := r.plan.latest(last, now)
	if slot.IsZero() {
		return last, r.wait(ctx, last, now)
	}
	if r.options.CatchUp == None && now.Sub(slot) > Grace {
		r.in.Refused(fmt.Sprintf("missed %d, the last at %s", earlier+1, r.show(slot)))
		return slot, r.deliver(ctx, controller.Delivery{Cursor: cursorOf(slot)})
	}
	return slot, r.wake(ctx, Slot{
		Time: slot.In(r.zone), Missed: earlier, Controller: r.in.Controller, Resources: r.in.Feed,
	})
}

func (r runner) wait(ctx context.Context, last, now time.Time) error {
	d := lookEvery
	if next := r.plan.next(last); !next.IsZero() {
		d = min(d, next.Sub(now))
		r.in.Next(next.Add(r.offset))
	}
	return clock.Sleep(ctx, r.in.Clock, d)
}

// wake delivers the keys of a slot. The cursor moves with the last of several
// deliveries: after a death between them all are repeated, which wakes a key once
// more and loses none.
func (r runner) wake(ctx context.Context, s Slot) error {
	keys, err := r.options.Keys(ctx, s)
	if err != nil {
		return fmt.Errorf("find the keys of the slot %s: %w", r.show(s.Time), err)
	}
	note := "slot " + r.show(s.Time)
	if s.Missed > 0 {
		note += fmt.Sprintf(", %d before it missed", s.Missed)
	}
	for len(keys) > controller.MaxDeliveryKeys {
		if err := r.deliver(ctx, controller.Delivery{Keys: keys[:controller.MaxDeliveryKeys], Note: note}); err != nil {
			return err
		}
		keys = keys[controller.MaxDeliveryKeys:]
	}
	return r.deliver(ctx, controller.Delivery{Keys: keys, Note: note, Cursor: cursorOf(s.Time)})
}

func (r runner) deliver(ctx context.Context, d controller.Delivery) error {
	_, err := r.in.Deliver(ctx, d)
	return err
}

func (r runner) show(t time.Time) string { return t.In(r.zone).Format(time.RFC3339) }

// cursorOf writes an instant, which has no fraction in a slot.
func cursorOf(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
