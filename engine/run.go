package engine

import (
	"context"
	"encoding/json"
	"errors"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// StartOptions describe one run.
type StartOptions struct {
	// RunID names the run and its bundle; one is made if it is empty. A bundle
	// of that ID must not exist.
	RunID string
	// Input is the run input before it is normalised; nil is null.
	Input json.RawMessage
	// Fence reports whether this process still owns the run: it is asked before
	// everything that must be ours alone (each sync of the record, each action
	// outside). Any error stops the run without another write, so it should
	// itself try a busy store again while the lease holds. Nil never objects.
	Fence func(ctx context.Context) error
	// Observe is told of each event once it is in the trace, in order, on the
	// goroutine of the run: it must return soon and must not call Wait. A panic
	// in it is logged and otherwise ignored.
	Observe func(e runbundle.Event, v workflow.View)
}

// Result is how a run ended.
type Result struct {
	RunID  string
	Status runbundle.Status
	// FinalOutput is set for completed and waiting runs.
	FinalOutput json.RawMessage
	// WaitingOn is the checkpoint of a waiting run.
	WaitingOn string
	// Error and ErrorCode tell why a run is failed, timed out or cancelled.
	Error, ErrorCode string
	// Interrupted says that the last event is run_interrupted: the host stopped.
	// Status is then runbundle.Failed, but the run did not fail by itself.
	Interrupted bool
	// Err is set if the record on disk is not complete, for example because the
	// claim was lost (lease.ErrLost) or the disk is full. Status is then
	// runbundle.Running if no end could be recorded: the bundle stays as it is
	// until its next owner interrupts it.
	Err error
}

// Run is one run that was started.
type Run struct{}

// Start checks the input, makes the bundle and starts the run, which goes on
// after Start returns. Canceling ctx ends Start, not the run; its values reach
// the callbacks. On an error nothing is left on disk: an *InputError for input
// that the workflow refuses, a *limit.Error, a *runbundle.IDError or
// *runbundle.ExistsError for the run ID, an error of the file layer.
func (e *Engine) Start(ctx context.Context, g *workflow.Graph, o StartOptions) (*Run, error) {
	return nil, errors.New("not built yet")
}

// ID returns the run ID.
func (r *Run) ID() string { return "" }

// Dir returns the folder of the bundle.
func (r *Run) Dir() string { return "" }

// Wait blocks until the run has ended, its commands are reaped and its bundle
// is closed.
func (r *Run) Wait() Result { return Result{} }

// Done is closed when Wait would return at once.
func (r *Run) Done() <-chan struct{} { return nil }

// Cancel ends the run as cancelled, which is never routed. It returns at once;
// Wait tells the end. A run that ended already stays as it is.
func (r *Run) Cancel() {}

// Interrupt ends the run because its host stops: the running attempt is ended
// and left without an end in the record, and the last event is run_interrupted.
// It returns at once; Wait tells the end. A run that ended already, or is being
// cancelled, stays as it is.
func (r *Run) Interrupt(reason string) {}
