package sqlite

import (
	"context"
	"time"
)

// WaitDue waits for a key of the named controllers; see controller.Store.
func (s *Store) WaitDue(ctx context.Context, controllers []string) error {
	err := s.wait(ctx, func(t *tx) (*time.Time, error) { return t.nextDue(controllers) })
	if err == nil {
		s.hasWork.Store(true) // the claim that follows need not look again
	}
	return err
}

// outlook is what there is to wait for.
type outlook struct {
	// next is when something becomes claimable by itself; nil is never.
	next *time.Time
	// others own claims; should they die, something becomes claimable.
	others []string
}

// wait returns once next gives a moment that has come. It looks again when
// something was committed, here or elsewhere, and when that moment comes.
// Meanwhile it looks after the owners of claims, for nobody else may.
func (s *Store) wait(ctx context.Context, next func(*tx) (*time.Time, error)) error {
	defer s.watch.enter()()
	for {
		committed := s.commit.next()
		o, err := read(ctx, s, "wait for work", func(t *tx) (o outlook, err error) {
			if o.next, err = next(t); err != nil {
				return o, err
			}
			o.others, err = t.claimants()
			return o, err
		})
		if err != nil || isDue(o.next, milliseconds(s.o.Clock)) {
			return err
		}
		if err := s.sleep(ctx, committed, s.wakeUp(ctx, o)); err != nil {
			return err
		}
	}
}

// wakeUp judges the other owners and returns when to look again at the latest.
func (s *Store) wakeUp(ctx context.Context, o outlook) *time.Time {
	if s.owner == nil || len(o.others) == 0 {
		return o.next
	}
	s.reapDue(ctx, o.others)
	again := s.o.Clock.Now().Add(reapEvery)
	return earlier(o.next, &again)
}

// sleep waits for a commit, for a moment (nil never comes), for the end of ctx
// or of the store; the last two are errors.
func (s *Store) sleep(ctx context.Context, committed <-chan struct{}, until *time.Time) error {
	var alarm <-chan time.Time
	if until != nil {
		timer := s.o.Clock.NewTimer(until.Sub(s.o.Clock.Now()))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-committed:
	case <-alarm:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.life.Done():
		return ErrClosed
	}
	return nil
}
