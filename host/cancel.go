package host

import (
	"context"
	"errors"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// reasonCancelled is the error of a run that is cancelled while nobody runs it.
const reasonCancelled = "the run was cancelled"

// CancelRun ends an interactive run, and returns where it stood: "queued",
// "parked", "paused" or "interrupted", and its bundle, if there is one, ends as
// cancelled, or "waiting", and it cannot be answered any more, while its bundle,
// which is final, stays as it is, or "running": then the process that runs it is
// asked to cancel it, and it is waited for that. One that has
// ended is a *runbundle.EndedError or *runqueue.EndedError, one that was answered a
// *runqueue.ContinuedError.
//
// The definition is asked to clean up behind the run. A run whose definition is
// not there any more is cancelled all the same, and so is one whose record cannot
// be read.
func CancelRun(ctx context.Context, o Options, store Store, runID string) (was string, err error) {
	o = o.withDefaults()
	row, err := personal(ctx, store, runID)
	if err != nil {
		return "", err
	}
	b, _ := runbundle.Summarize(o.bundle(runID)) // what is wrong with it is found again
	was = RunStatus(row, b)
	if row.Holder != "" {
		if ended, err := cancelThere(ctx, store, runID); ended || err != nil {
			return was, err
		}
	}
	err = o.cancelOpen(ctx, store, runID)
	if ended, ok := errors.AsType[*runbundle.EndedError](err); ok && ended.Status == runbundle.Waiting {
		return was, store.WithdrawRun(ctx, runID, reasonCancelled)
	}
	return was, err
}

// cancelThere asks the process that runs a run to cancel it, and waits until it has
// let go of it. ended is false if that process went without having done so.
func cancelThere(ctx context.Context, store Store, runID string) (ended bool, err error) {
	row, err := store.OrderRun(ctx, runID, runqueue.OrderCancel, reasonCancelled)
	for err == nil && row.Holder != "" && !row.Status.Final() {
		row, err = store.AwaitRun(ctx, row)
	}
	if already, ok := errors.AsType[*runqueue.EndedError](err); ok && already.Status == string(runqueue.Cancelled) {
		return true, nil // by somebody else, in this moment
	}
	if err == nil && row.Status.Final() && row.Status != runqueue.Cancelled {
		err = &runqueue.EndedError{RunID: runID, Status: string(row.Status)}
	}
	return err == nil && row.Status.Final(), err
}

// cancelOpen ends a run that has not ended.
func (o Options) cancelOpen(ctx context.Context, store Store, runID string) error {
	s, err := adopt(ctx, o, store, runID)
	if err != nil {
		return err
	}
	held, release := s.keep(ctx)
	defer release()
	run, err := s.resume(ctx, engine.ResumeOptions{RunID: runID, Force: true, Cancel: true})
	if err != nil {
		return s.cancelWithout(ctx, err)
	}
	result, err := s.follow(ctx, held, run)
	if err == nil && result.Status != runbundle.Cancelled { // nothing was left but to say how it ended
		err = &runbundle.EndedError{RunID: runID, Status: result.Status}
	}
	return err
}

// cancelWithout cancels a run that the engine cannot take up.
func (s *solo) cancelWithout(ctx context.Context, cause error) error {
	_, unknown := errors.AsType[*controller.UnknownWorkflowError](cause)
	_, gone := errors.AsType[*engine.NodeGoneError](cause)
	if unknown || gone {
		cause = s.close(ctx)
	}
	switch {
	case cause == nil, broken(cause):
		return s.store.FinishRun(ctx, s.claim, runqueue.Cancelled, reasonCancelled)
	case unrecorded(cause):
		return s.forget(ctx)
	default:
		return s.giveBack(ctx, cause)
	}
}

// close records the end of a run without its definition.
func (s *solo) close(ctx context.Context) error {
	w, err := runbundle.Open(ctx, s.recording(), s.options.bundle(s.runID), nil)
	if err != nil {
		return err
	}
	_, err = w.Append(ctx, runbundle.Draft{At: s.options.Clock.Now(), Payload: runbundle.RunEnded{
		Status: runbundle.Cancelled, Error: reasonCancelled, ErrorCode: engine.CodeCancelled,
	}})
	return errors.Join(err, w.Close())
}

// forget ends the row of a run that has no bundle here.
func (s *solo) forget(ctx context.Context) error {
	if err := s.quarantine(); err != nil {
		return s.giveBack(ctx, err)
	}
	end := s.store.FinishRun
	if s.options.recorded(s.claim.Row.ContinuationOf) { // so it is nowhere else, and never began
		end = s.store.AbandonRun
	}
	return end(ctx, s.claim, runqueue.Cancelled, reasonCancelled)
}
