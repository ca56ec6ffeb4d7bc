// Package clocktest has a clock that stands still until a test moves it.
package clocktest

import (
	"context"
	"sync"
	"time"

	"piworkflows/clock"
)

// Manual is a clock.Clock whose time passes only through Advance. It is safe
// for concurrent use.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	timers  map[*timer]struct{}
	changed chan struct{}
}

// Epoch is the time at which New starts.
var Epoch = time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC)

// New returns a clock that stands at Epoch.
func New() *Manual {
	return &Manual{now: Epoch, timers: map[*timer]struct{}{}, changed: make(chan struct{})}
}

// Now returns the time at which the clock stands.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// NewTimer returns a timer that fires when Advance reaches its time; one that
// is due already fires at once.
func (m *Manual) NewTimer(d time.Duration) clock.Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &timer{clock: m, at: m.now.Add(d), c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- m.now
		return t
	}
	m.timers[t] = struct{}{}
	m.announce()
	return t
}

// Advance moves the clock forward by d and fires every timer that became due.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for t := range m.timers {
		if !t.at.After(m.now) {
			delete(m.timers, t)
			t.c <- m.now
		}
	}
	m.announce()
}

// AwaitTimers blocks until exactly n timers are pending, or ctx ends. It is
// how a test knows that the code under test waits before it calls Advance.
func (m *Manual) AwaitTimers(ctx context.Context, n int) error {
	return m.await(ctx, func() bool { return len(m.timers) == n })
}

// AwaitTimer blocks until a timer is pending that fires in exactly d, or ctx ends.
func (m *Manual) AwaitTimer(ctx context.Context, d time.Duration) error {
	return m.await(ctx, func() bool {
		for t := range m.timers {
			if t.at.Equal(m.now.Add(d)) {
				return true
			}
		}
		return false
	})
}

// await blocks until a condition on the timers holds.
func (m *Manual) await(ctx context.Context, holds func() bool) error {
	for {
		m.mu.Lock()
		done, changed := holds(), m.changed
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// announce tells waiters that the set of timers changed. The lock is held.
func (m *Manual) announce() {
	close(m.changed)
	m.changed = make(chan struct{})
}

type timer struct {
	clock *Manual
	at    time.Time
	c     chan time.Time
}

func (t *timer) C() <-chan time.Time { return t.c }

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, pending := t.clock.timers[t]
	delete(t.clock.timers, t)
	t.clock.announce()
	return pending
}
