package engine

import (
	"context"
	"sync"
	"time"

	"piworkflows/clock"
)

// worktime counts down the active time of a decision. It stands still while the
// step is held.
type worktime struct {
	clock clock.Clock
	// changed wakes run after a hold began or ended.
	changed chan struct{}

	mu sync.Mutex
	// left is what remained at since, when it began or went on.
	left  time.Duration
	since time.Time
	holds int
}

func newWorktime(c clock.Clock, limit time.Duration) *worktime {
	return &worktime{clock: c, changed: make(chan struct{}, 1), left: limit, since: c.Now()}
}

// run calls up once the time is used up, or returns when ctx ends.
func (w *worktime) run(ctx context.Context, up func()) {
	for {
		left, running := w.remaining()
		if left <= 0 {
			up()
			return
		}
		if !w.wait(ctx, left, running) {
			return
		}
	}
}

// wait returns true when it is worth looking again, false when ctx ended.
func (w *worktime) wait(ctx context.Context, left time.Duration, running bool) bool {
	var due <-chan time.Time
	if running {
		timer := w.clock.NewTimer(left)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-due:
	case <-w.changed:
	case <-ctx.Done():
		return false
	}
	return true
}

func (w *worktime) remaining() (left time.Duration, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leftNow(), w.holds == 0
}

// leftNow returns what remains. The lock is held.
func (w *worktime) leftNow() time.Duration {
	if w.holds > 0 {
		return w.left
	}
	return w.left - w.clock.Now().Sub(w.since)
}

// hold stops the time until what it returns is called. It may be called again
// meanwhile; the last release lets the time go on.
func (w *worktime) hold() (release func()) {
	w.shift(1)
	return sync.OnceFunc(func() { w.shift(-1) })
}

func (w *worktime) shift(holds int) {
	w.mu.Lock()
	w.left = w.leftNow()
	w.since = w.clock.Now()
	w.holds += holds
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}
