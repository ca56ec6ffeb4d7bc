package testkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// ErrDied is what everybody hears whom a dead process had asked something.
var ErrDied = errors.New("the process has died")

// process runs passes: a manager over a store of its own. Between the two it is
// watched at every step, and may die there.
type process struct {
	controller.Store
	kit     *Kit
	store   *sqlite.Store
	manager *controller.Manager
	life    context.Context //nolint:containedctx // the life of the process, beyond that of one pass
	die     context.CancelCauseFunc
}

// start starts a process. What the one before had claimed is free then.
func (k *Kit) start() *process {
	k.t.Helper()
	s := k.open()
	p := &process{Store: s, kit: k, store: s}
	p.life, p.die = context.WithCancelCause(context.WithoutCancel(k.t.Context()))
	var err error
	p.manager, err = controller.NewManager(controller.ManagerOptions{
		Store: p, Definitions: []*controller.Definition{k.definition}, Scheduler: k.scheduler, Clock: k.Clock,
		Logger: slog.New(slog.NewTextHandler(logger{k.t}, nil)), Random: func() float64 { return 0.5 },
		Lease: lasts, Renewal: lasts / 2,
	})
	if err != nil {
		k.t.Fatalf("start a process: %v", err)
	}
	return p
}

// restart starts the next process after one has died.
func (k *Kit) restart() {
	k.t.Helper()
	if err := k.process.store.Desert(); err != nil {
		k.t.Fatalf("end a dead process: %v", err)
	}
	next := k.start()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process = next
}

// dead reports whether the process has died and no other was started yet.
func (k *Kit) dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.process.dead()
}

func (p *process) pass() (bool, error) { return p.manager.RunOnce(p.life) }

func (p *process) dead() bool { return errors.Is(context.Cause(p.life), ErrDied) }

// end ends the life of a process that may live.
func (p *process) end() { p.die(nil) }

func (p *process) dies(when string, s Step) {
	p.kit.note("the process dies " + when + ": " + string(s))
	p.die(ErrDied)
}

// through is one step of a process. told says what the trace has of it.
func through[R any](p *process, s Step, call func() (R, error), told func(R) string) (R, error) {
	var none R
	if p.dead() {
		return none, ErrDied
	}
	crash := p.kit.meets(s)
	if crash != nil && !crash.After {
		p.dies("before", s)
		return none, ErrDied
	}
	r, err := call()
	if err != nil {
		p.kit.note(fmt.Sprintf("%s: %v", s, err))
		return none, err
	}
	p.kit.note(string(s) + " " + told(r))
	if crash != nil {
		p.dies("after", s)
		return none, ErrDied
	}
	return r, nil
}

// Claim implements controller.Store. Only a claim that finds a key is a step.
func (p *process) Claim(ctx context.Context, names []string, d time.Duration) (*controller.Claim, error) {
	if p.dead() {
		return nil, ErrDied
	}
	c, err := p.Store.Claim(ctx, names, d)
	if c == nil || err != nil {
		return nil, err
	}
	p.kit.note("claim " + c.Ref.Key)
	if p.kit.meets(StepClaim) != nil {
		p.dies("after", StepClaim)
		return nil, ErrDied
	}
	return c, nil
}

// ReserveEffect implements controller.Store.
func (p *process) ReserveEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectReservation,
) (controller.EffectRecord, controller.Reservation, error) {
	var found controller.Reservation
	record, err := through(p, StepReserveEffect, func() (record controller.EffectRecord, err error) {
		record, found, err = p.Store.ReserveEffect(ctx, c, e)
		return record, err
	}, func(r controller.EffectRecord) string { return fmt.Sprintf("%s: it is %s", r.Key, found) })
	return record, found, err
}

// CheckApply implements controller.Store.
func (p *process) CheckApply(ctx context.Context, c *controller.Claim) error {
	_, err := through(p, StepCheckApply, func() (struct{}, error) { return struct{}{}, p.Store.CheckApply(ctx, c) },
		func(struct{}) string { return c.Ref.Key })
	return err
}

// FinishEffect implements controller.Store.
func (p *process) FinishEffect(ctx context.Context, c *controller.Claim, e controller.EffectOutcome) (controller.EffectRecord, error) {
	return through(p, StepFinishEffect, func() (controller.EffectRecord, error) { return p.Store.FinishEffect(ctx, c, e) },
		func(r controller.EffectRecord) string { return fmt.Sprintf("%s: it is %s", r.Key, r.State) })
}

// ReserveChild implements controller.Store.
func (p *process) ReserveChild(
	ctx context.Context, c *controller.Claim, r controller.ChildReservation,
) (controller.ChildRun, controller.ChildReserved, error) {
	var done controller.ChildReserved
	child, err := through(p, StepReserveChild, func() (child controller.ChildRun, err error) {
		child, done, err = p.Store.ReserveChild(ctx, c, r)
		return child, err
	}, func(c controller.ChildRun) string { return fmt.Sprintf("%s: it is %s", c.RequestKey, c.State) })
	return child, done, err
}

// CancelChildren implements controller.Store.
func (p *process) CancelChildren(
	ctx context.Context, c *controller.Claim, r controller.ChildCancellation,
) (controller.ChildrenCancelled, error) {
	return through(p, StepCancelChildren, func() (controller.ChildrenCancelled, error) { return p.Store.CancelChildren(ctx, c, r) },
		func(done controller.ChildrenCancelled) string {
			return fmt.Sprintf("of %s: %d had not ended", c.Ref.Key, len(done.Children))
		})
}

// Finish implements controller.Store.
func (p *process) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	return through(p, StepFinish, func() (controller.Finished, error) { return p.Store.Finish(ctx, c, f) },
		func(done controller.Finished) string { return c.Ref.Key + ": " + ending(f, done) })
}

// ending says how a pass ended.
func ending(f controller.Finish, done controller.Finished) string {
	var text string
	switch {
	case done.Deleted:
		return "it is deleted"
	case done.Conflict:
		text = "it was changed meanwhile"
	case f.Err != "":
		text = "it failed (" + f.Err + ")"
	case !done.Requeued:
		return "it is settled"
	default:
		return again(done)
	}
	if done.Requeued {
		text += ", " + again(done)
	}
	return text
}

// again says when a key runs again.
func again(done controller.Finished) string {
	if done.After == 0 {
		return fmt.Sprintf("it runs again at once (%s)", done.Reason)
	}
	return fmt.Sprintf("it runs again after %s (%s)", done.After, done.Reason)
}

// note adds a line to the trace.
func (k *Kit) note(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trace = append(k.trace, line)
}

// Trace returns what happened since the last call, in order: the steps of passes,
// and the calls of providers.
func (k *Kit) Trace() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	lines := k.trace
	k.trace = nil
	return lines
}
