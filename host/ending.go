package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// leftover ends the bundle that a dead owner left, and says how the attempt
// ended. found is false if the run never began: then it may begin now.
func (r *runner) leftover(ctx context.Context, claim *runqueue.Claim) (o controller.ChildOutcome, found bool, err error) {
	runID := claim.Row.RunID
	options := runbundle.Options{Clock: r.clock, Logger: r.log, Fence: r.fence(claim)}
	var state runbundle.State
	err = oslock.Patiently(ctx, func() (err error) {
		state, err = runbundle.MarkInterrupted(ctx, options, filepath.Join(r.runs, runID), reasonOwnerGone)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = runbundle.QuarantineIncomplete(options, r.runs, runID, uuid.NewString())
		}
		return err
	})
	if err != nil || state.RunID == "" {
		return controller.ChildOutcome{}, false, err
	}
	return ending(state.Status, state.ErrorCode == runbundle.CodeInterrupted, state.FinalOutput, state.Error), true, nil
}

// outcomeOf is the end of a run that this process saw.
func outcomeOf(r engine.Result) controller.ChildOutcome {
	return ending(r.Status, r.Interrupted, r.FinalOutput, r.Error)
}

// ending maps the end of a run to the end of a child attempt.
//
// Spec: Child workflows (run_interrupted is interrupted, not failed).
func ending(s runbundle.Status, interrupted bool, output json.RawMessage, message string) controller.ChildOutcome {
	switch {
	case interrupted:
		return controller.ChildOutcome{State: controller.RunInterrupted, Error: message}
	case s == runbundle.Completed:
		return controller.ChildOutcome{State: controller.RunSucceeded, Output: output}
	case s == runbundle.Waiting:
		return controller.ChildOutcome{State: controller.RunWaiting, Output: output}
	default:
		return controller.ChildOutcome{State: controller.RunFailed, Error: message}
	}
}

// graph finds the definition of a row. A row that cannot be run by this
// program has an outcome instead.
func (r *runner) graph(row runqueue.Row) (*workflow.Graph, controller.ChildOutcome, error) {
	g, err := r.catalog.Workflow(row.Workflow)
	if err != nil {
		return nil, failed(err), nil
	}
	if g.Digest() != row.Digest {
		// The next attempt is reserved with the definition of today.
		return nil, controller.ChildOutcome{
			State: controller.RunInterrupted,
			Error: fmt.Sprintf("workflow %s changed between the request and the start of this attempt", row.Workflow),
		}, nil
	}
	return g, controller.ChildOutcome{}, nil
}

// refusedStart says what a start that failed means: a disk that refuses will
// be tried again, everything else is the run's own failure.
func refusedStart(err error) (controller.ChildOutcome, error) {
	if durable.IsDiskFull(err) || durable.IsReadOnly(err) {
		return controller.ChildOutcome{}, err
	}
	return failed(err), nil
}

func failed(err error) controller.ChildOutcome {
	return controller.ChildOutcome{State: controller.RunFailed, Error: err.Error()}
}

// observer forwards the events of a run.
func observer(observe func(RunEvent), row runqueue.Row) func(runbundle.Event, workflow.View) {
	if observe == nil {
		return nil
	}
	return func(e runbundle.Event, _ workflow.View) {
		observe(RunEvent{RunID: row.RunID, Workflow: row.Workflow, Event: e})
	}
}
