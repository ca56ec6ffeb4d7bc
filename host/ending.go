package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// leftover ends the bundle that a dead owner left, and says how the attempt
// ended. found is false if the run never began: then it may begin now.
func (r *runner) leftover(ctx context.Context, claim *runqueue.Claim) (o controller.ChildOutcome, found bool, err error) {
	runID := claim.Row.RunID
	options := runbundle.Options{Clock: r.clock, FS: r.ground.disk, Logger: r.log, Fence: r.fence(claim)}
	var state runbundle.State
	err = oslock.Patiently(ctx, func() (err error) {
		state, err = runbundle.MarkInterrupted(ctx, options, filepath.Join(r.runs, runID), reasonOwnerGone)
		if unrecorded(err) {
			_, err = runbundle.QuarantineIncomplete(options, r.runs, runID, uuid.NewString())
		}
		return err
	})
	switch {
	case beyondRepair(err):
		return failed(err), true, nil
	case err != nil || state.RunID == "":
		return controller.ChildOutcome{}, false, err
	}
	return ending(state.Status, state.ErrorCode == runbundle.CodeInterrupted, state.FinalOutput, state.Error), true, nil
}

// beyondRepair reports whether a bundle can never be read: then its attempt
// failed, and a person may look at the files. What the operating system refused
// may work the next time.
func beyondRepair(err error) bool {
	_, system := errors.AsType[syscall.Errno](err)
	return broken(err) && !system
}

// broken reports whether a bundle is there and cannot be read.
func broken(err error) bool {
	_, corrupt := errors.AsType[*runbundle.CorruptError](err)
	_, unknown := errors.AsType[*runbundle.UnknownSchemaError](err)
	return corrupt || unknown
}

// unrecorded reports whether there is no bundle.
func unrecorded(err error) bool { return errors.Is(err, fs.ErrNotExist) && !broken(err) }

// outcomeOf is the end of a run that this process saw.
func outcomeOf(r engine.Result) controller.ChildOutcome {
	return ending(r.Status, r.Interrupted, r.FinalOutput, r.Error)
}

// ending maps the end of a run to the end of a child attempt.
//
// Spec: Child workflows (run_interrupted is interrupted, not failed).
func ending(s runbundle.Status, wasInterrupted bool, output json.RawMessage, message string) controller.ChildOutcome {
	switch {
	case wasInterrupted:
		return interrupted(message)
	case s == runbundle.Completed:
		return controller.ChildOutcome{State: controller.RunSucceeded, Output: output}
	case s == runbundle.Waiting:
		return controller.ChildOutcome{State: controller.RunWaiting, Output: output}
	default:
		return controller.ChildOutcome{State: controller.RunFailed, Error: message}
	}
}

// graph finds the definition of a row; one that this program cannot run has an
// outcome instead. The attempt after one that was pinned to another definition
// is reserved with that of today.
func (r *runner) graph(row runqueue.Row) (*workflow.Graph, *controller.ChildOutcome) {
	g, err := r.catalog.Workflow(row.Workflow)
	if err != nil {
		refusal := failed(err)
		return nil, &refusal
	}
	if today, err := identity(g); err != nil || !pins(today, row) {
		refusal := interrupted(fmt.Sprintf("workflow %s changed between the request and the start of this attempt", row.Workflow))
		return nil, &refusal
	}
	return g, nil
}

// refusedStart says what a start that failed means: a record that could not be
// made will be tried again, everything else is the run's own failure.
func refusedStart(err error) (controller.ChildOutcome, error) {
	if isRecordError(err) {
		return controller.ChildOutcome{}, err
	}
	return failed(err), nil
}

func isRecordError(err error) bool {
	_, ok := errors.AsType[*engine.RecordError](err)
	return ok
}

func interrupted(reason string) controller.ChildOutcome {
	return controller.ChildOutcome{State: controller.RunInterrupted, Error: reason}
}

// stopped is the outcome of a run that its host did not get round to.
func stopped() controller.ChildOutcome {
	return controller.ChildOutcome{State: controller.RunInterrupted, Error: reasonStopped, Stopped: true}
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
