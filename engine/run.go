package engine

import (
	"context"
	"encoding/json"
	"sync"

	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// StartOptions describe one run.
type StartOptions struct {
	// RunID names the run and its bundle; one is made if it is empty. A bundle
	// of that ID must not exist.
	RunID string
	// Input is the run input before it is normalised; nil is null.
	Input json.RawMessage
	// Reserve is called once, with the normalised input, after every check and
	// before anything is written; an error refuses the run. It is where the
	// caller makes the row of the run. Nil reserves nothing.
	Reserve func(ctx context.Context, input json.RawMessage) error
	// Fence reports whether this process still owns the run: it is asked before
	// everything that must be ours alone (each sync of the record, each action
	// outside). A lease.ErrLost stops the run without another write. Any other
	// error, of a busy store for example, is asked again for the time of a
	// lease, and then stops the run too. Nil never objects.
	Fence func(ctx context.Context) error
	// Observe is told of each event once it is in the trace, in order and one at a
	// time; the run waits meanwhile, so it must return soon and must not call
	// Wait. A panic in it is logged and otherwise ignored.
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
	// Parked says that the run was parked: it has no end, nothing of it is left
	// running, and Resume takes it up again. Status is runbundle.Running.
	Parked bool
	// Err is set if the record on disk is not complete, for example because the
	// claim was lost (lease.ErrLost) or the disk is full. Status is then
	// runbundle.Running if no end could be recorded: the bundle stays as it is
	// until its next owner interrupts it. With any other status the end is
	// durable and only the projections lag behind it.
	Err error
}

// Run is one run that was started. Its methods are safe for concurrent use.
type Run struct {
	e     *Engine
	o     StartOptions
	graph *workflow.Graph
	title string
	input json.RawMessage
	w     *runbundle.Writer

	// base has the values of the context of Start and never ends: what must be
	// recorded is recorded although the run was cancelled.
	base context.Context
	// ctx ends with a *stop as its cause.
	ctx    context.Context
	cancel context.CancelCauseFunc

	gate gate

	// scopes follows the run through the workflows that it includes. Only the
	// goroutine of the run uses it.
	scopes *workflow.Scopes

	// writing is held while an event is recorded and told: the callbacks of an
	// attempt publish updates from goroutines of their own.
	writing sync.Mutex
	// updates is used while writing is held.
	updates ledger

	// spool keeps what the attempts print; only the goroutine of the run uses it.
	spool *spool.Spool

	// sent counts the messages of each notify node; only the goroutine of the
	// run uses it.
	sent map[string]int

	done   chan struct{}
	result Result
}

// stop is why a run was told to end. Each is compared by its address, so that
// the end of another run, returned by a callback, is not taken for ours.
type stop struct {
	order  order
	reason string
}

// order is what a run that is told to end does.
type order int

const (
	toCancel order = iota
	toInterrupt
	toPark
)

func (s *stop) Error() string { return s.reason }

// ID returns the run ID.
func (r *Run) ID() string { return r.o.RunID }

// Dir returns the folder of the bundle.
func (r *Run) Dir() string { return r.w.Dir() }

// Wait blocks until the run has ended or is parked, its commands are reaped and
// its bundle is closed.
func (r *Run) Wait() Result {
	<-r.done
	return r.result
}

// Done is closed when Wait would return at once.
func (r *Run) Done() <-chan struct{} { return r.done }

// Pause holds the run when the running attempt has ended, before the next one
// begins; a run that ends with that attempt is not held. It returns at once: the
// event run_paused tells that the run is held. A second call does nothing.
// Spec: workflow engine, Pause, resume, cancel, park.
func (r *Run) Pause() { r.gate.shut() }

// Resume lets a paused run go on; the event run_resumed tells it if the run was
// held already. It does nothing else.
func (r *Run) Resume() { r.gate.open() }

// Park takes the run out of this process without ending it, for Engine.Resume:
// the running attempt is ended and forgotten, and its node begins anew then. A
// pause stays recorded, but the resumed run is not paused. It returns at once;
// Wait tells when the bundle is free: a callback that takes no notice of its
// context keeps it, so that nobody begins the same work beside it. A run that is
// told to end already stays as it is.
func (r *Run) Park() { r.cancel(&stop{order: toPark, reason: "the run was parked"}) }

// Cancel ends the run as cancelled, which is never routed. It returns at once;
// Wait tells the end. A run that ended already, or is told to end otherwise,
// stays as it is.
func (r *Run) Cancel() { r.cancel(&stop{order: toCancel, reason: "the run was cancelled"}) }

// Interrupt ends the run because its host stops: the running attempt is ended
// and left without an end in the record, and the last event is run_interrupted.
// It returns at once; Wait tells the end. A run that ended already, or is told to
// end otherwise, stays as it is.
func (r *Run) Interrupt(reason string) { r.cancel(&stop{order: toInterrupt, reason: reason}) }
