package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"piworkflows/lease"
)

// passRun is one pass from its claim to its end.
type passRun struct {
	*Manager
	definition *Definition
	claim      *Claim
	info       PassInfo
	began      time.Time
	log        *slog.Logger
	// applied says that the one external change of the pass was tried.
	applied atomic.Bool

	// mu guards the resource, of which child requests change version and
	// pointer while the reconciler works on a copy, and the effects of which the
	// pass does not know what came of them, by key.
	mu       sync.Mutex
	resource Raw
	inDoubt  map[string]EffectRecord
}

func (m *Manager) newPass(c *Claim) *passRun {
	p := &passRun{Manager: m, claim: c, began: m.o.Clock.Now(), resource: c.Resource}
	p.info = PassInfo{Ref: c.Ref, Generation: c.Resource.Metadata.Generation, ReconcileID: uuid.NewString()}
	if p.definition = m.definitions.find(c.Ref.Controller); p.definition == nil {
		p.definition = &Definition{} // it went between the claim and now
	}
	p.log = m.o.Logger
	if p.log.Enabled(context.Background(), slog.LevelError) { // somebody hears it
		p.log = p.log.With("controller", c.Ref.Controller, "key", c.Ref.Key,
			"generation", p.info.Generation, "reconcileId", p.info.ReconcileID)
	}
	return p
}

// run works the claim off, and claims the next key for the same worker if the
// store can do so with the end of this pass. Its error is one of the store: the
// claim runs out by itself then.
func (p *passRun) run(stop context.Context, next FinishClaimer) (*Claim, error) {
	p.o.Observer.Observe(PassStarted{
		PassInfo: p.info, Lane: p.claim.Lane, Waited: p.claim.Waited, Again: p.claim.ConsecutiveErrors+p.claim.Retries > 0,
	})
	held, release := lease.Keep(context.WithoutCancel(stop), p.renewal())
	defer release()
	a := p.reconcile(stop, held)
	if a.overdue() {
		release()
	}
	e := p.paced(p.end(a))
	if next == nil || a.late != nil || stop.Err() != nil {
		err := p.finish(stop, held, e, p.lastFinish)
		p.leave(a)
		return nil, err
	}
	room := p.slots.extend(p.claim.Ref.Controller)
	var claim *Claim
	err := p.finish(stop, held, e, func(ctx context.Context, f Finish) (done Finished, err error) {
		done, claim, err = next.FinishAndClaim(ctx, p.claim, f, room, p.o.Lease)
		return done, err
	})
	if claim == nil {
		p.slots.cancel(room)
		return nil, err
	}
	p.slots.take(room, claim.Ref.Controller)
	return claim, err
}

func (p *passRun) renewal() lease.Renewal {
	return lease.Renewal{
		Clock: p.o.Clock, Every: p.o.Renewal, Lasts: p.o.Lease,
		Renew: func(ctx context.Context) error { return p.o.Store.Renew(ctx, p.claim, p.o.Lease) },
	}
}

// answer is what came of a call of the reconciler.
type answer struct {
	result RawResult
	err    error
	// cause says why the context of the pass ended; nil if it had not.
	cause error
	// late delivers what an abandoned reconciler returns; nil if it returned.
	late <-chan answer
}

// overdue reports whether the deadline ended the pass.
func (a answer) overdue() bool {
	var timeout *TimeoutError
	return errors.As(a.cause, &timeout)
}

// reconcile calls the reconciler and waits for it as long as the pass may last.
func (p *passRun) reconcile(stop, held context.Context) answer {
	if stop.Err() != nil || p.definition.Reconcile == nil {
		return answer{err: ErrStopped, cause: ErrStopped}
	}
	ctx, cancel := p.bounded(held, stop)
	defer cancel()
	done := make(chan answer, 1)
	go p.call(ctx, done)
	a := p.await(ctx, done)
	a.cause = context.Cause(ctx)
	return a
}

// call runs the reconciler. It answers even if the reconciler panics or ends
// the goroutine.
func (p *passRun) call(ctx context.Context, done chan<- answer) {
	a := answer{err: &PanicError{In: "Reconcile"}}
	defer func() { done <- a }()
	services := &Pass{
		ID: p.info.ReconcileID, Log: p.log,
		Effects: &effects{passRun: p, pass: ctx}, Workflows: &workflows{passRun: p, pass: ctx},
	}
	resource := cloneRaw(p.claim.Resource)
	a.result, a.err = guarded("Reconcile", func() (RawResult, error) {
		return p.definition.Reconcile(ctx, services, resource)
	})
}

// await waits until the reconciler returns or the pass ends. Only a stop leaves
// it time to return after that: then nobody waits for the key.
func (p *passRun) await(ctx context.Context, done <-chan answer) answer {
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), ErrStopped) {
		return p.awaitGrace(done)
	}
	return pickUp(done)
}

func (p *passRun) awaitGrace(done <-chan answer) answer {
	grace := p.o.Clock.NewTimer(p.o.StopGrace)
	defer grace.Stop()
	select {
	case a := <-done:
		return a
	case <-grace.C():
		return pickUp(done)
	}
}

// pickUp takes an answer that is there, or abandons the reconciler.
func pickUp(done <-chan answer) answer {
	select {
	case a := <-done:
		return a
	default:
		return answer{err: context.Canceled, late: done}
	}
}

// leave frees the slot of the pass. The place of an abandoned reconciler is
// freed when it returns.
func (p *passRun) leave(a answer) {
	name := p.claim.Ref.Controller
	if a.late == nil {
		p.slots.release(name)
		return
	}
	p.slots.abandon(name)
	p.o.Observer.Observe(PassAbandoned{p.info, a.cause})
	go func() {
		late := <-a.late
		p.slots.returned(name)
		p.o.Observer.Observe(PassReturned{p.info, p.elapsed(), late.err})
	}()
}

func (p *passRun) elapsed() time.Duration { return p.o.Clock.Now().Sub(p.began) }
