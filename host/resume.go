package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"piworkflows/engine"
	"piworkflows/internal/oslock"
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
	if err := o.reachable(ctx, store, runID); err != nil {
		return engine.Result{}, err
	}
	s, err := adopt(ctx, o, store, runID)
	if err != nil {
		return engine.Result{}, err
	}
	held, release := s.keep(ctx)
	defer release()
	run, err := s.begin(ctx, r.Force)
	if err != nil {
		return engine.Result{}, s.giveBack(ctx, err)
	}
	return s.follow(ctx, held, run)
}

// reachable refuses a run whose bundle is in another folder of runs. It stays as it
// is.
func (o Options) reachable(ctx context.Context, store Store, runID string) error {
	row, err := store.Run(ctx, runID)
	if err != nil || row.Status.Final() || row.Root == "" {
		return err
	}
	root, err := rootID(o.Runs)
	if err == nil && row.Root != root {
		err = &NotRecordedError{RunID: runID, Status: row.Status, Runs: o.Runs}
	}
	return err
}

// begin lets a run that was claimed go on where its record ends, or begin if it has
// none: then nothing of it has happened.
func (s *solo) begin(ctx context.Context, force bool) (run *engine.Run, err error) {
	if s.claim.Interrupted {
		s.options.endLeftovers(ctx, false)
	}
	if s.options.recorded(s.runID) {
		return s.resume(ctx, engine.ResumeOptions{RunID: s.runID, Force: force})
	}
	row := s.claim.Row
	if row.ContinuationOf != "" && !s.options.recorded(row.ContinuationOf) {
		return nil, &NotRecordedError{RunID: s.runID, Status: runqueue.Parked, Runs: s.options.Runs}
	}
	if s.graph, err = s.options.Catalog.Workflow(row.Workflow); err != nil {
		return nil, err
	}
	if today, err := identity(s.graph); err != nil || !force && !pins(today, row) {
		return nil, errors.Join(err, &ChangedError{RunID: s.runID, Workflow: row.Workflow})
	}
	if err := oslock.Patiently(ctx, s.quarantine); err != nil { // its owner may be dying
		return nil, err
	}
	if row.ContinuationOf != "" {
		return s.engine.Continue(ctx, s.graph, engine.ContinueOptions{
			Parent: row.ContinuationOf, RunID: s.runID, Answer: row.Input, Force: force, Fence: s.fence, Observe: s.observer(),
		})
	}
	return s.engine.Start(ctx, s.graph, engine.StartOptions{
		RunID: s.runID, Input: row.Input, Fence: s.fence, Observe: s.observer(),
	})
}

// ChangedError says that the definition of a run is another one than when the run
// was asked for; it has not begun.
type ChangedError struct{ RunID, Workflow string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("workflow %s changed since run %s was asked for: start that with resume %s --force, or cancel it",
		e.Workflow, e.RunID, e.RunID)
}

// ErrorCode is the stable code of the error.
func (*ChangedError) ErrorCode() string { return "source_changed" }

// adopt claims the row of a run that nobody runs.
func adopt(ctx context.Context, o Options, store Store, runID string) (*solo, error) {
	root, err := rootID(o.Runs)
	if err != nil {
		return nil, err
	}
	was, err := store.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	claim, err := store.AdoptRun(ctx, runID, root, o.Lease)
	if ended, ok := errors.AsType[*runqueue.EndedError](err); ok {
		return nil, o.ended(ctx, store, ended)
	}
	if err != nil {
		return nil, err
	}
	return &solo{
		options: o, store: redacted(store), engine: engine.New(o.engine()), runID: runID, claim: claim, detached: was.Detached,
	}, nil
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
	err := s.store.ParkRun(ctx, s.claim, cause.Error())
	if err == nil && s.detached && !s.stay { // it is the hosts' again
		_, err = s.store.OrderRun(ctx, s.runID, runqueue.OrderDetach, "")
	}
	return errors.Join(cause, err)
}

// settle ends the row of a run whose owner died between the end of the bundle
// and that of the row.
func (s *solo) settle(ctx context.Context, status runbundle.Status) error {
	message := ""
	if b, err := runbundle.Read(s.options.bundle(s.runID)); err == nil {
		message = b.State.Error
	}
	return s.finish(ctx, status, message)
}
