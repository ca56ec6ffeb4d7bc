package host

import (
	"context"
	"encoding/json"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// QueueWorkflow asks the hosts of the project for a run and returns its ID. Input
// that is refused is an error and nothing is written.
func QueueWorkflow(ctx context.Context, o Options, store Store, name string, input json.RawMessage) (runID string, err error) {
	if err := CheckRun(ctx, o, name, input); err != nil {
		return "", err
	}
	o = o.withDefaults()
	graph, err := o.Catalog.Workflow(name)
	if err != nil {
		return "", err
	}
	return newSolo(o, store, graph, "", input).queue(ctx)
}

// QueueAnswer is AnswerRun for a continuation that a host is to run; it returns
// the ID of that. What the engine refuses later gives the question back.
func QueueAnswer(ctx context.Context, o Options, store Store, runID string, answer json.RawMessage) (next string, err error) {
	o = o.withDefaults()
	row, err := store.Run(ctx, runID)
	if err == nil {
		err = o.answerable(ctx, store, row)
	}
	if err != nil {
		return "", err
	}
	graph, err := o.Catalog.Workflow(row.Workflow)
	if err != nil {
		return "", err
	}
	parent, err := runbundle.Summarize(o.bundle(runID))
	if err != nil {
		return "", err
	}
	if parent.Status != runbundle.Waiting {
		return "", &engine.NotWaitingError{RunID: runID, Status: parent.Status}
	}
	return newSolo(o, store, graph, runID, answer).queue(ctx)
}

// queue leaves the run to a host.
func (s *solo) queue(ctx context.Context) (runID string, err error) {
	r, err := s.newRun()
	if err == nil && s.parent != "" {
		r.Root, err = rootID(s.options.Runs) // beside its parent
	}
	if err != nil {
		return "", err
	}
	return s.runID, s.store.QueueRun(ctx, r)
}

// PauseRun lets a run hold before its next step, whichever process runs it, and
// returns its row. One that is detached and that nobody runs just now stays where
// it is. Of another one that nobody runs nothing can be held: a *NotRunningError.
func PauseRun(ctx context.Context, o Options, store Store, runID string) (runqueue.Row, error) {
	row, err := personal(ctx, store, runID)
	if err != nil {
		return row, err
	}
	if row.Status.Final() || row.Holder == "" && !row.Detached {
		b, _ := runbundle.Summarize(o.bundle(runID)) // the row tells enough without it
		return row, &NotRunningError{RunID: runID, Status: RunStatus(row, b)}
	}
	return store.OrderRun(ctx, runID, runqueue.OrderPause, "")
}

// UnpauseRun lets a run go on in another process, and returns its row: one that is
// paused in the process that runs it, or one that nobody runs and that belongs to
// the hosts, or is given to them with detach. Any other one that nobody runs is
// not of this function, which found is false for: see ResumeRun. One that a
// process runs and that is not paused is a *runqueue.HeldError.
func UnpauseRun(ctx context.Context, o Options, store Store, runID string, detach bool) (row runqueue.Row, found bool, err error) {
	row, err = personal(ctx, store, runID)
	switch {
	case err != nil:
	case row.Status.Final():
		err = o.withDefaults().ended(ctx, store, &runqueue.EndedError{RunID: runID, Status: string(row.Status)})
	case row.Holder != "" && row.Paused:
		row, err = store.OrderRun(ctx, runID, runqueue.OrderGo, "")
	case row.Holder != "":
		err = &runqueue.HeldError{RunID: runID, Holder: row.Holder}
	case row.Detached || detach:
		row, err = store.OrderRun(ctx, runID, runqueue.OrderDetach, "")
	default:
		return row, false, nil
	}
	return row, err == nil, err
}
