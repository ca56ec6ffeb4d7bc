package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// AnswerRun answers the checkpoint at which a run waits: its continuation, a run of
// its own, runs in this process to its end as with RunWorkflow. That of a child run
// is the child run from then on: its end wakes the resource that asked for it. A
// run takes one answer. Refused are, and nothing is written: a second answer with a
// *runqueue.ContinuedError, a run that does not wait with a
// *runqueue.NotWaitingError or *engine.NotWaitingError, and what engine.Continue
// refuses.
func AnswerRun(
	ctx context.Context, o Options, store Store, runID string, answer json.RawMessage, r ResumeOptions,
) (engine.Result, error) {
	o = o.withDefaults()
	row, err := store.Run(ctx, runID)
	if err == nil {
		err = o.answerable(ctx, store, row)
	}
	if err != nil {
		return engine.Result{}, err
	}
	graph, err := o.Catalog.Workflow(row.Workflow)
	if err != nil {
		return engine.Result{}, err
	}
	s := newSolo(o, store, graph, runID, answer)
	return s.launch(ctx, func() (*engine.Run, error) {
		return s.engine.Continue(ctx, graph, engine.ContinueOptions{
			Parent: runID, RunID: s.runID, Answer: answer, Force: r.Force,
			Reserve: s.reserve, Fence: s.fence, Observe: s.observer(),
		})
	})
}

// personal finds the row of an interactive run.
func personal(ctx context.Context, store Store, runID string) (runqueue.Row, error) {
	row, err := store.Run(ctx, runID)
	if err == nil && row.ChildOf != "" {
		err = &runqueue.ChildRunError{RunID: runID, ChildOf: row.ChildOf}
	}
	return row, err
}

// answerable makes the row of a run ready for a continuation, or says why there
// can be none. The store looks again when the continuation gets its row.
func (o Options) answerable(ctx context.Context, store Store, row runqueue.Row) error {
	switch {
	case row.ContinuedBy != "":
		return o.free(ctx, store, &runqueue.ContinuedError{RunID: row.RunID, ContinuedBy: row.ContinuedBy})
	case row.Status == runqueue.Cancelled:
		return &runqueue.NotWaitingError{RunID: row.RunID, Status: string(row.Status)}
	case !row.Status.Final() && row.Holder == "":
		return o.late(ctx, store, row)
	}
	return nil
}

// late ends the row of a run that nobody runs if its bundle has ended.
func (o Options) late(ctx context.Context, store Store, row runqueue.Row) error {
	b, err := runbundle.Read(o.bundle(row.RunID))
	if err != nil || !b.State.Status.Terminal() || row.ChildOf != "" { // of a child, a host tells its parent first
		return &runqueue.NotWaitingError{RunID: row.RunID, Status: RunStatus(row, b.Summary())}
	}
	s, err := adopt(ctx, o, store, row.RunID)
	if err != nil {
		return err
	}
	return s.settle(ctx, b.State.Status)
}

// free abandons a continuation that has no bundle and whose process is gone: it
// never began, and its parent may be answered again. Any other one stays.
func (o Options) free(ctx context.Context, store Store, taken *runqueue.ContinuedError) error {
	if o.recorded(taken.ContinuedBy) || !o.recorded(taken.RunID) { // or its bundle may be elsewhere
		return taken
	}
	if row, err := store.Run(ctx, taken.ContinuedBy); err != nil || row.Status == runqueue.Queued {
		return taken // a host will begin it
	}
	s, err := adopt(ctx, o, store, taken.ContinuedBy)
	if err != nil {
		return taken // it is being made, or was used up
	}
	if err := s.quarantine(); err != nil {
		return s.giveBack(ctx, err)
	}
	return s.abandon(ctx, errors.New(reasonOwnerGone))
}

// recorded reports whether there is a bundle of a run.
func (o Options) recorded(runID string) bool {
	if runID == "" {
		return false
	}
	_, err := runbundle.ReadManifest(o.bundle(runID))
	return !unrecorded(err)
}

// quarantine moves away what there is of a bundle that was never finished.
func (s *solo) quarantine() error {
	_, err := runbundle.QuarantineIncomplete(s.recording(), s.options.Runs, s.runID, uuid.NewString())
	return err
}

// recording is how this process writes the bundle.
func (s *solo) recording() runbundle.Options {
	return runbundle.Options{Clock: s.options.Clock, FS: s.options.FS, Logger: s.options.Logger, Fence: s.fence}
}
