package controller

import (
	"context"
	"errors"
	"log/slog"

	"piworkflows/lease"
)

// finish stores the end of the pass. A store that fails is asked again while
// the claim holds, but not while the manager stops.
func (p *passRun) finish(stop, held context.Context, e ending) error {
	ctx, cancel := p.detached(held)
	defer cancel()
	patient, unlink := linked(ctx, stop, nil)
	defer unlink()
	for failures := 1; ; failures++ {
		done, err := p.o.Store.Finish(ctx, p.claim, e.finish)
		switch {
		case err == nil:
			if !done.Requeued {
				p.pace.end(p.claim.Ref)
			}
			p.report(ctx, e, outcomeOf(e, done), done.Reason)
			return nil
		case errors.Is(err, lease.ErrLost):
			p.report(ctx, ending{err: errors.Join(err, e.err)}, outcomeLost, "")
			return nil
		case e.finish.Write != nil && refused(err):
			e = p.failed(err, ReasonErrorBackoff)
			continue
		}
		lost := errors.Is(context.Cause(held), lease.ErrLost)
		if stop.Err() != nil || lost || p.pause(patient, "finish a pass", err, failures) != nil {
			p.report(ctx, ending{err: errors.Join(err, e.err)}, outcomeUnrecorded, "")
			return err
		}
	}
}

// refused reports whether the store will never take the write.
func refused(err error) bool {
	var limit *LimitError
	var name *NameError
	return errors.As(err, &limit) || errors.As(err, &name)
}

// The outcomes of a pass in its log record.
const (
	outcomeSettled  = "settled"
	outcomeRequeue  = "requeue"
	outcomeDeleted  = "deleted"
	outcomeFailed   = "failed"
	outcomeConflict = "conflict"
	outcomeReleased = "released"
	// outcomeLost means that another pass had the key already.
	outcomeLost = "lost"
	// outcomeUnrecorded means that the store took no end of the pass.
	outcomeUnrecorded = "unrecorded"
)

func outcomeOf(e ending, done Finished) string {
	switch event := e.finish.Pass.Type; {
	case event == EventFailed:
		return outcomeFailed
	case event == EventReleased:
		return outcomeReleased
	case event == EventConflict || done.Conflict:
		return outcomeConflict
	case done.Deleted:
		return outcomeDeleted
	case done.Requeued:
		return outcomeRequeue
	default:
		return outcomeSettled
	}
}

// report writes the one log record of the pass.
//
// Spec: Observability.
func (p *passRun) report(ctx context.Context, e ending, outcome string, why RequeueReason) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("outcome", outcome), slog.Int64("durationMs", p.elapsed().Milliseconds())}
	if why != "" {
		attrs = append(attrs, slog.String("reason", string(why)))
	}
	if outcome == outcomeFailed || outcome == outcomeLost || outcome == outcomeUnrecorded {
		level = slog.LevelWarn
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("error", errorText(e.err)))
	}
	if thrown := (*PanicError)(nil); errors.As(e.err, &thrown) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("stack", string(thrown.Stack)))
	}
	p.log.LogAttrs(ctx, level, "pass", attrs...)
}
