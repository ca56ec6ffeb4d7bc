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

// CancelRun ends an interactive run that nobody runs, and returns where it stood:
// "parked" or "interrupted", and its bundle ends as cancelled, or "waiting", and
// it cannot be answered any more, while its bundle, which is final, stays as it
// is. A run in the hands of a live process is a *runqueue.HeldError, one that has
// ended a *runbundle.EndedError or *runqueue.EndedError, one that was answered a
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
	err = o.cancelOpen(ctx, store, runID)
	if ended, ok := errors.AsType[*runbundle.EndedError](err); ok && ended.Status == runbundle.Waiting {
		return was, store.WithdrawRun(ctx, runID, reasonCancelled)
	}
	return was, err
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

// PauseRun says why a run cannot be paused from here: only the process that runs
// it can do that, with engine.Run.Pause. A run in the hands of a live process is
// a *runqueue.HeldError that names it, one that nobody runs a *NotRunningError.
func PauseRun(ctx context.Context, o Options, store Store, runID string) error {
	row, err := personal(ctx, store, runID)
	if err != nil {
		return err
	}
	if row.Holder != "" {
		return &runqueue.HeldError{RunID: runID, Holder: row.Holder}
	}
	b, _ := runbundle.Summarize(o.bundle(runID)) // the row tells enough without it
	return &NotRunningError{RunID: runID, Status: RunStatus(row, b)}
}
