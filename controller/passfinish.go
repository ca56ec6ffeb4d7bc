package controller

import (
	"context"
	"errors"

	"piworkflows/lease"
)

// lastFinish stores the end of a pass that nothing follows in its worker.
func (p *passRun) lastFinish(ctx context.Context, f Finish) (Finished, error) {
	return p.o.Store.Finish(ctx, p.claim, f)
}

// finish stores the end of the pass. A store that fails is asked again while
// the claim holds, but not while the manager stops.
func (p *passRun) finish(stop, held context.Context, e ending, store func(context.Context, Finish) (Finished, error)) error {
	ctx, cancel := p.detached(held)
	defer cancel()
	for failures := 1; ; failures++ {
		done, err := store(ctx, e.finish)
		switch {
		case err == nil:
			if !done.Requeued {
				p.pace.end(p.claim.Ref)
			}
			p.report(outcomeOf(e, done), e.err, done)
			return nil
		case errors.Is(err, lease.ErrLost):
			p.report(PassLost, errors.Join(err, e.err), Finished{})
			return nil
		case e.finish.Write != nil && refused(err):
			e = p.failed(err, ReasonErrorBackoff)
			continue
		}
		lost := errors.Is(context.Cause(held), lease.ErrLost)
		if stop.Err() != nil || lost || p.pauseFinish(ctx, stop, err, failures) != nil {
			p.report(PassUnrecorded, errors.Join(err, e.err), Finished{})
			return err
		}
	}
}

// pauseFinish waits before the end of the pass is stored once more.
func (p *passRun) pauseFinish(ctx, stop context.Context, err error, failures int) error {
	ctx, unlink := linked(ctx, stop, nil)
	defer unlink()
	return p.pause(ctx, "finish a pass", err, failures)
}

// refused reports whether the store will never take the write.
func refused(err error) bool {
	var limit *LimitError
	var name *NameError
	return errors.As(err, &limit) || errors.As(err, &name)
}

func outcomeOf(e ending, done Finished) PassOutcome {
	switch event := e.finish.Pass.Type; {
	case event == EventFailed:
		return PassFailed
	case event == EventReleased:
		return PassReleased
	case event == EventConflict || done.Conflict:
		return PassConflict
	case done.Deleted:
		return PassDeleted
	case done.Requeued:
		return PassRequeued
	default:
		return PassSettled
	}
}

// report tells of the end of the pass.
//
// Spec: Observability.
func (p *passRun) report(outcome PassOutcome, err error, next Finished) {
	p.o.Observer.Observe(PassEnded{
		PassInfo: p.info, Outcome: outcome, Duration: p.elapsed(), Reason: next.Reason, After: next.After, Err: err,
	})
}

func (p *passRun) observeEffect(r EffectRecord, event EventType, err string) {
	p.o.Observer.Observe(EffectChanged{
		PassInfo: p.info, Effect: r.Key, Kind: r.Kind, State: r.State, Event: event, Err: err,
	})
}

func (p *passRun) observeChild(c ChildRun) {
	p.o.Observer.Observe(ChildChanged{ChildInfo{c.RequestID, c.RunID, c.Workflow, c.Attempt}, p.info.Ref, c.State, c.Error})
}
