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
		return p.succeeded(a.result)
	case errors.Is(a.cause, ErrStopped):
		return p.again(a.err, EventReleased, ReasonStopped)
	case errors.Is(a.err, ErrSecondApply):
		return p.again(nil, EventFinished, ReasonEffectApplied)
	case p.outdated(a.err):
		return p.again(a.err, EventConflict, ReasonConflict)
	case a.cause != nil:
		return p.failed(a.cause, ReasonErrorBackoff)
	default:
		return p.failed(a.err, ReasonErrorBackoff)
	}
}

// succeeded writes a result. A pass that changed the outside runs again: only
// the next one sees what came of it.
//
// Spec: Safety rules.
func (p *passRun) succeeded(r RawResult) ending {
	w, err := p.write(r)
	if err != nil {
		return p.failed(err, ReasonErrorBackoff)
	}
	f := p.newFinish(EventFinished, r.reason(), r.After)
	f.Write, f.Settle = w, r.Kind == ResultSettled
	if f.Settle && p.applied.Load() {
		f.Settle, f.Reason = false, ReasonEffectApplied
	}
	return ending{finish: f}
}

func (p *passRun) write(r RawResult) (*Write, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return newWrite(p.resource, r.Patch, p.o.Clock.Now())
}

// failed counts an error and backs off.
func (p *passRun) failed(err error, why RequeueReason) ending {
	f := p.newFinish(EventFailed, why, p.o.Backoff.Delay(p.claim.ConsecutiveErrors+1, p.o.Random()))
	f.Err = errorText(err)
	return ending{finish: f, err: err}
}

// again runs the key at once. An error that is no fault of the reconciler
// leaves its count alone.
func (p *passRun) again(err error, event EventType, why RequeueReason) ending {
	f := p.newFinish(event, why, 0)
	f.KeepErrors = err != nil
	return ending{finish: f, err: err}
}

func (p *passRun) newFinish(event EventType, why RequeueReason, after time.Duration) Finish {
	return Finish{
		After: after, Reason: why, Unsettled: UnsettledDelay,
		Pass: PassRecord{
			ReconcileID: p.id,
			Generation:  p.claim.Resource.Metadata.Generation,
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
