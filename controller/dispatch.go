package controller

import (
	"context"
	"log/slog"
	"time"

	"piworkflows/clock"
)

// storeBackoff is for operations of the store that failed. It is shorter than
// that of keys: all of them wait.
var storeBackoff = Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: BackoffJitter}

// dispatch claims keys and starts their passes until stop ends. It is the only
// loop that claims, so idle workers cost nothing.
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

// next starts one pass, or waits until there may be one to start.
func (m *Manager) next(stop context.Context) error {
	names, changed := m.slots.open()
	if len(names) == 0 {
		select {
		case <-changed.Done():
		case <-stop.Done():
		}
		return nil
	}
	claim, err := m.claim(stop)
	if err != nil {
		return err
	}
	if claim == nil {
		return m.waitDue(stop, changed, names)
	}
	m.passes.Go(func() {
		// The error has been logged with the pass; its claim runs out by itself.
		_ = m.newPass(claim).run(stop)
	})
	return nil
}

// claim takes one key that is due and its slot; nil if there is none or no
// room. It is not cancelled half-way: a claim nobody knows of would block its
// key for a whole lease.
func (m *Manager) claim(ctx context.Context) (*Claim, error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	m.claiming.Lock()
	defer m.claiming.Unlock()
	names, _ := m.slots.open()
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // as Store.Claim: nothing to do is no error
	}
	claim, err := m.o.Store.Claim(ctx, names, m.o.Lease)
	if claim == nil || err != nil {
		return nil, err
	}
	m.slots.take(claim.Ref.Controller)
	return claim, nil
}

// waitDue sleeps in the store. If a controller is at its limit, it also wakes
// when one has room again.
func (m *Manager) waitDue(stop, changed context.Context, names []string) error {
	ctx, cancel := stop, context.CancelFunc(func() {})
	if len(names) < len(m.definitions.names) {
		ctx, cancel = linked(stop, changed, nil)
	}
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
	m.o.Logger.LogAttrs(ctx, slog.LevelError, "store failed, trying again",
		slog.String("doing", doing), slog.Any("error", err),
		slog.Int("failures", failures), slog.Duration("delay", delay))
	return clock.Sleep(ctx, m.o.Clock, delay)
}
