package host

import (
	"context"
	"errors"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// onceHorizon is how far ahead RunOnce looks: a row that is due within it is
// waited for.
const onceHorizon = 5 * time.Second

// Summary is what RunOnce leaves behind.
type Summary struct {
	// Delayed are the keys that wait for a time beyond the horizon.
	Delayed []Pending
	// Failed are the keys whose last pass failed; they are delayed too.
	Failed []Pending
}

// Pending is a key that is not done.
type Pending struct {
	controller.Ref
	// Until is when the key is due.
	Until time.Time
	// LastError is the error of the last pass, empty if it did not fail.
	LastError string
}

// RunOnce works until nothing of the loaded controllers is claimed, no child or
// detached run is unfinished and no row is due within five seconds, then stops as Run
// does. Sources are not started. An ended ctx stops it early, with its cause
// as the error, and so does an error of the store that does not go away by itself: any
// but those with a method Temporary that says so.
func (h *Host) RunOnce(ctx context.Context) (Summary, error) {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.giveUp.end.Store(&stop)
	var idle error
	err := h.work(working, func(ctx context.Context) {
		h.announce(ctx)
		h.detached.awaitIdle(ctx)
		idle = h.awaitIdle(ctx)
		stop(nil)
	})
	gaveUp, broken := errors.AsType[*storeError](context.Cause(working))
	switch {
	case ctx.Err() != nil:
		return Summary{}, errors.Join(context.Cause(ctx), err)
	case broken:
		return Summary{}, errors.Join(gaveUp.error, err)
	case err != nil: // the parts may be at work still
		return Summary{}, err
	case idle != nil:
		return Summary{}, idle
	}
	h.sweeper.once(ctx)
	return h.summary(ctx)
}

// awaitIdle blocks until there is nothing left to do. Every end of a pass and
// of a run is an event, so the change feed is the signal to look again.
func (h *Host) awaitIdle(ctx context.Context) error {
	names := h.catalog.Controllers.Names()
	for {
		head, err := h.store.Head(ctx)
		if err != nil {
			return err
		}
		left, err := h.store.Backlog(ctx, names)
		if err != nil {
			return err
		}
		now := h.clock.Now()
		if idle(left, now) {
			return nil
		}
		if err := h.awaitChange(ctx, head, left.NextDue, now); err != nil {
			return err
		}
	}
}

func idle(b controller.Backlog, now time.Time) bool {
	soon := b.NextDue != nil && b.NextDue.Sub(now) <= onceHorizon
	return b.Claimed == 0 && b.Ready == 0 && b.Runs == 0 && !soon
}

// awaitChange returns after the next event, or once the next row is due.
func (h *Host) awaitChange(ctx context.Context, after controller.Cursor, due *time.Time, now time.Time) error {
	waiting := ctx
	if due != nil {
		until, cancel := clock.WithTimeoutCause(ctx, h.clock, due.Sub(now), context.DeadlineExceeded)
		defer cancel()
		waiting = until
	}
	_, err := h.store.Changes(waiting, after, controller.ChangeFilter{})
	if waiting.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (h *Host) summary(ctx context.Context) (Summary, error) {
	var s Summary
	for _, name := range h.catalog.Controllers.Names() {
		q := controller.ListQuery{Controller: name, Limit: 1000}
		for {
			page, err := h.store.List(ctx, q)
			if err != nil {
				return Summary{}, err
			}
			for _, item := range page.Items {
				s.add(item)
			}
			if page.Continue == "" {
				break
			}
			q.Continue = page.Continue
		}
	}
	return s, nil
}

func (s *Summary) add(item controller.ListItem) {
	if item.Queue.State != controller.QueueDelayed || item.Queue.AvailableAt == nil {
		return
	}
	p := Pending{Ref: item.Resource.Metadata.Ref(), Until: *item.Queue.AvailableAt, LastError: item.Queue.LastError}
	s.Delayed = append(s.Delayed, p)
	if item.Queue.ConsecutiveErrors > 0 {
		s.Failed = append(s.Failed, p)
	}
}
