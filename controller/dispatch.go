package controller

import (
	"context"
	"time"

	"piworkflows/clock"
)

// storeBackoff is for operations of the store that failed. It is shorter than
// that of keys: all of them wait.
var storeBackoff = Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: BackoffJitter}

// dispatch finds work until stop ends. It is the only one that waits, so idle
// workers cost nothing.
func (m *Manager) dispatch(stop context.Context) {
	failures := 0
	for stop.Err() == nil {
		err := m.next(stop)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		if m.pause(stop, "look for work", err, failures) != nil {
			return
		}
	}
}

// next starts a worker, or waits until there may be something for one to do.
func (m *Manager) next(stop context.Context) error {
	names, freed := m.slots.reserve()
	if len(names) == 0 {
		select {
		case <-freed.Done():
		case <-stop.Done():
		}
		return nil
	}
	claim, err := m.claim(stop, names)
	if err != nil {
		return err
	}
	if claim == nil {
		return m.waitDue(stop)
	}
	m.passes.Go(func() { m.work(stop, claim) })
	return nil
}

// work runs passes as long as there is something due. Workers claim for
// themselves, beside each other, so that their transactions share commits.
func (m *Manager) work(stop context.Context, claim *Claim) {
	next, _ := m.o.Store.(FinishClaimer)
	for claim != nil {
		// The error has been logged with the pass; its claim runs out by itself.
		claim, _ = m.newPass(claim).run(stop, next)
		if next == nil {
			claim = m.another(stop)
		}
	}
}

func (m *Manager) another(stop context.Context) *Claim {
	if stop.Err() != nil {
		return nil
	}
	names, _ := m.slots.reserve()
	if len(names) == 0 {
		return nil
	}
	// The worker ends; dispatch meets the same error and backs off.
	claim, _ := m.claim(stop, names)
	return claim
}

// claim takes a key that is due for the reserved slot; nil if there is none. It
// is not cancelled half-way: a claim that nobody knows of would block its key
// for a whole lease.
func (m *Manager) claim(ctx context.Context, reserved []string) (*Claim, error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	claim, err := m.o.Store.Claim(ctx, reserved, m.o.Lease)
	if claim == nil || err != nil {
		m.slots.cancel(reserved)
		return nil, err
	}
	m.slots.take(reserved, claim.Ref.Controller)
	return claim, nil
}

// waitDue sleeps in the store. It also wakes when there are other definitions and,
// if a controller is at its limit, when one has room again.
func (m *Manager) waitDue(stop context.Context) error {
	names, changed := m.slots.awaited()
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := linked(stop, changed, nil)
	defer cancel()
	err := m.o.Store.WaitDue(ctx, names)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause tells of a failure of the store and waits before it is tried again. The
// error is that of ctx.
func (m *Manager) pause(ctx context.Context, doing string, err error, failures int) error {
	delay := storeBackoff.Delay(failures, m.o.Random())
	m.o.Observer.Observe(StoreFailed{Doing: doing, Err: err, Failures: failures, After: delay})
	return clock.Sleep(ctx, m.o.Clock, delay)
}
