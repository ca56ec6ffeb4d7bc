package host

import (
	"context"
	"errors"
	"path/filepath"

	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// ResumeOptions say how a recorded run goes on.
type ResumeOptions struct {
	// Force goes on although the definition is not the one that the run was
	// recorded with. The record says so.
	Force bool
}

// ResumeRun goes on with an interactive run that was parked or whose process is
// gone, in this process, and waits for its end as RunWorkflow does. No recorded
// step runs again. The run stays resumable if it is refused: a *runqueue.HeldError
// while its process lives, a *runbundle.EndedError or *runqueue.EndedError, a
// *runqueue.ContinuedError if it was answered, a *runqueue.ChildRunError, a *NotRecordedError, and the errors of engine.Resume.
func ResumeRun(ctx context.Context, o Options, store Store, runID string, r ResumeOptions) (engine.Result, error) {
	o = o.withDefaults()
	s, err := adopt(ctx, o, store, runID)
	if err != nil {
		return engine.Result{}, err
	}
	held, release := s.keep(ctx)
	defer release()
	run, err := s.resume(ctx, engine.ResumeOptions{RunID: runID, Force: r.Force})
	if err != nil {
		return engine.Result{}, s.giveBack(ctx, err)
	}
	return s.follow(ctx, held, run)
}

// adopt claims the row of a run that nobody runs.
func adopt(ctx context.Context, o Options, store Store, runID string) (*solo, error) {
	claim, err := store.AdoptRun(ctx, runID, lease.DefaultDuration)
	if ended, ok := errors.AsType[*runqueue.EndedError](err); ok {
		return nil, o.ended(ctx, store, ended)
	}
	if err != nil {
		return nil, err
	}
	return &solo{options: o, store: redacted(store), engine: engine.New(o.engine()), runID: runID, claim: claim}, nil
}

// ended says where a run goes on that was answered, or how it ended if that can be
// read.
func (o Options) ended(ctx context.Context, store Store, row *runqueue.EndedError) error {
	if now, err := store.Run(ctx, row.RunID); err == nil && now.ContinuedBy != "" {
		return &runqueue.ContinuedError{RunID: row.RunID, ContinuedBy: now.ContinuedBy}
	}
	b, err := runbundle.Read(o.bundle(row.RunID))
	if err != nil || !b.State.Status.Terminal() || row.Status == string(runqueue.Cancelled) {
		return row
	}
	return &runbundle.EndedError{RunID: row.RunID, Status: b.State.Status}
}

// bundle returns the folder of a run.
func (o Options) bundle(runID string) string { return filepath.Join(o.Runs, runID) }

func (s *solo) resume(ctx context.Context, r engine.ResumeOptions) (run *engine.Run, err error) {
	if s.graph, err = s.options.Catalog.Workflow(s.claim.Row.Workflow); err != nil {
		return nil, err
	}
	r.Fence, r.Observe = s.fence, s.observer()
	err = oslock.Patiently(ctx, func() (err error) { // its owner may be dying
		run, err = s.engine.Resume(ctx, s.graph, r)
		return err
	})
	return run, err
}

// giveBack leaves the row of a run that does not go on as it should be, and says
// why it does not.
func (s *solo) giveBack(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if ended, ok := errors.AsType[*runbundle.EndedError](cause); ok {
		return errors.Join(cause, s.settle(ctx, ended.Status))
	}
	if unrecorded(cause) {
		cause = &NotRecordedError{RunID: s.runID, Status: runqueue.Parked, Runs: s.options.Runs}
	}
	return errors.Join(cause, s.store.ParkRun(ctx, s.claim, cause.Error()))
}

// settle ends the row of a run whose owner died between the end of the bundle
// and that of the row.
func (s *solo) settle(ctx context.Context, status runbundle.Status) error {
	message := ""
	if b, err := runbundle.Read(s.options.bundle(s.runID)); err == nil {
		message = b.State.Error
	}
	return s.store.FinishRun(ctx, s.claim, rowStatus(status), message)
}
