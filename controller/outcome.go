package controller

import (
	"errors"
	"time"
)

// ending is how a pass is to end, and the error that made it so.
type ending struct {
	finish Finish
	err    error
}

// end decides how the pass ends. The deadline wins over whatever the reconciler
// returned; a stop only over its errors, which it probably caused.
func (p *passRun) end(a answer) ending {
	switch {
	case a.overdue():
		return p.failed(a.cause, ReasonTimeout)
	case a.err == nil:
		return p.succeeded(a)
	case errors.Is(a.cause, ErrStopped):
		return p.again(a.err, EventReleased, ReasonStopped)
	case errors.Is(a.err, ErrSecondApply):
		return p.withEffects(a, p.newFinish(EventFinished, ReasonEffectApplied, 0))
	case isFrozen(a.err):
		return p.frozen(a.err)
	case p.outdated(a.err):
		return p.again(a.err, EventConflict, ReasonConflict)
	case a.cause != nil:
		return p.failed(a.cause, ReasonErrorBackoff)
	default:
		return p.failed(a.err, ReasonErrorBackoff)
	}
}

// succeeded writes a result.
func (p *passRun) succeeded(a answer) ending {
	r := a.result
	w, err := p.write(r)
	if err != nil {
		return p.failed(err, ReasonErrorBackoff)
	}
	f := p.newFinish(EventFinished, r.reason(), r.After)
	f.Write, f.Settle = w, r.Kind == ResultSettled
	if f.Retry = r.Kind == ResultRetry; f.Retry {
		f.After = p.backoff()
	}
	return p.withEffects(a, f)
}

// withEffects makes a pass that changed the outside run again: only the next one
// sees what came of it. An effect in doubt counts as an error, so that a provider
// that is down is asked with growing delays; but not if a stop may have cut it off.
//
// Spec: Safety rules.
func (p *passRun) withEffects(a answer, f Finish) ending {
	err := p.doubt()
	switch {
	case err != nil && errors.Is(a.cause, ErrStopped):
		f.Settle, f.KeepErrors, f.Reason = false, true, ReasonStopped
	case err != nil:
		f.Settle, f.Reason = false, ReasonEffectUnsettled
		f.Err, f.After = errorText(err), max(f.After, p.backoff())
	case f.Settle && p.applied.Load():
		f.Settle, f.Reason = false, ReasonEffectApplied
	}
	return ending{finish: f, err: err}
}

// paced delays a pass that is one of many in a row to run again at once.
func (p *passRun) paced(e ending) ending {
	if e.finish.Settle || e.finish.After >= time.Millisecond || e.finish.Reason == ReasonStopped {
		p.pace.end(p.claim.Ref)
		return e
	}
	e.finish.After = p.pace.again(p.claim.Ref, p.o.Random())
	return e
}

// backoff is the delay after one more error or retry.
func (p *passRun) backoff() time.Duration {
	return p.o.Backoff.Delay(p.claim.ConsecutiveErrors+p.claim.Retries+1, p.o.Random())
}

func (p *passRun) write(r RawResult) (*Write, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return newWrite(p.resource, r.Patch, p.o.Clock.Now())
}

// failed counts an error and backs off, unless the error says that this is of no
// use.
func (p *passRun) failed(err error, why RequeueReason) ending {
	f := p.newFinish(EventFailed, why, p.backoff())
	f.Err = errorText(err)
	if terminal := (*TerminalError)(nil); errors.As(err, &terminal) {
		f.Settle, f.Terminal, f.After, f.Reason = true, true, 0, ""
	}
	return ending{finish: f, err: err}
}

// frozen waits for the end of a freeze, which wakes the key.
func (p *passRun) frozen(err error) ending {
	f := p.newFinish(EventFinished, ReasonFrozenProject, p.backoff())
	f.Retry = true
	return ending{finish: f, err: err}
}

func isFrozen(err error) bool {
	var frozen *FrozenError
	return errors.As(err, &frozen)
}

// again runs the key at once. What made it so is no fault of the reconciler and
// leaves its count of errors alone.
func (p *passRun) again(err error, event EventType, why RequeueReason) ending {
	f := p.newFinish(event, why, 0)
	f.KeepErrors = true
	return ending{finish: f, err: err}
}

func (p *passRun) newFinish(event EventType, why RequeueReason, after time.Duration) Finish {
	return Finish{
		After: after, Reason: why, Unsettled: UnsettledDelay, Resync: p.definition.Resync,
		Pass: PassRecord{
			ReconcileID: p.info.ReconcileID,
			Generation:  p.info.Generation,
			Duration:    p.elapsed(),
			Type:        event,
		},
	}
}

// outdated reports whether err says that the pass's own resource has changed. A
// conflict on another resource is an error like any other.
func (p *passRun) outdated(err error) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict) && conflict.Ref == p.claim.Ref
}
