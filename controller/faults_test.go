package controller_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"piworkflows/controller"
)

// faults is the real store with a hook before and after the operations that a
// manager uses. It also writes down their order.
type faults struct {
	controller.Store
	mu     sync.Mutex
	trace  []string
	before func(op string) error
	after  func(op string) error
}

func newFaults(s controller.Store) *faults {
	none := func(string) error { return nil }
	return &faults{Store: s, before: none, after: none}
}

// fail makes the next n calls of an operation fail with err.
func (f *faults) fail(op string, n int, err error) {
	f.hook(func(o string) error {
		if o != op || n == 0 {
			return nil
		}
		n--
		return err
	}, nil)
}

func (f *faults) hook(before, after func(op string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before != nil {
		f.before = before
	}
	if after != nil {
		f.after = after
	}
}

// took returns the operations since the last call.
func (f *faults) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := slices.Clone(f.trace)
	f.trace = nil
	return t
}

// note adds a line to the trace.
func (f *faults) note(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trace = append(f.trace, line)
}

func (f *faults) enter(op string) error {
	f.note(op)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before(op)
}

func (f *faults) leave(op string, err error) error {
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.after(op)
}

// through calls one operation between the hooks.
func through[R any](f *faults, op string, call func() (R, error)) (R, error) {
	var none R
	if err := f.enter(op); err != nil {
		return none, err
	}
	r, err := call()
	if err := f.leave(op, err); err != nil {
		return none, err
	}
	return r, nil
}

func (f *faults) Claim(ctx context.Context, names []string, d time.Duration) (*controller.Claim, error) {
	return through(f, "Claim", func() (*controller.Claim, error) { return f.Store.Claim(ctx, names, d) })
}

func (f *faults) WaitDue(ctx context.Context, names []string) error {
	_, err := through(f, "WaitDue", func() (int, error) { return 0, f.Store.WaitDue(ctx, names) })
	return err
}

func (f *faults) Renew(ctx context.Context, c *controller.Claim, d time.Duration) error {
	_, err := through(f, "Renew", func() (int, error) { return 0, f.Store.Renew(ctx, c, d) })
	return err
}

func (f *faults) CheckApply(ctx context.Context, c *controller.Claim) error {
	_, err := through(f, "CheckApply", func() (int, error) { return 0, f.Store.CheckApply(ctx, c) })
	return err
}

func (f *faults) Finish(ctx context.Context, c *controller.Claim, e controller.Finish) (controller.Finished, error) {
	return through(f, "Finish", func() (controller.Finished, error) { return f.Store.Finish(ctx, c, e) })
}

func (f *faults) ReserveEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectReservation,
) (controller.EffectRecord, controller.Reservation, error) {
	var found controller.Reservation
	record, err := through(f, "ReserveEffect", func() (record controller.EffectRecord, err error) {
		record, found, err = f.Store.ReserveEffect(ctx, c, e)
		return record, err
	})
	return record, found, err
}

func (f *faults) FinishEffect(ctx context.Context, c *controller.Claim, e controller.EffectOutcome) (controller.EffectRecord, error) {
	return through(f, "FinishEffect", func() (controller.EffectRecord, error) { return f.Store.FinishEffect(ctx, c, e) })
}

func (f *faults) ReserveChild(
	ctx context.Context, c *controller.Claim, r controller.ChildReservation,
) (controller.ChildRun, controller.ChildReserved, error) {
	var done controller.ChildReserved
	child, err := through(f, "ReserveChild", func() (child controller.ChildRun, err error) {
		child, done, err = f.Store.ReserveChild(ctx, c, r)
		return child, err
	})
	return child, done, err
}
