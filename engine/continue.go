package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// ContinueOptions describe the continuation of a waiting run. RunID, Reserve,
// Fence and Observe mean what they mean in StartOptions, for the new run.
type ContinueOptions struct {
	// Parent is the run that waits at a checkpoint. Required.
	Parent string
	RunID  string
	// Answer becomes the input of the new run, through the Input function of the
	// workflow; nil is null.
	Answer json.RawMessage
	// Force lets the run go on with a definition that is not the one that the
	// parent was recorded with. The record of the new run says so.
	Force bool
	// Reserve is also where the caller makes sure that a parent has one
	// continuation at most.
	Reserve func(ctx context.Context, input json.RawMessage) error
	Fence   func(ctx context.Context) error
	Observe func(e runbundle.Event, v workflow.View)
}

// Continue answers a checkpoint: a new run, in a bundle of its own, goes on
// after it as if it had just ended ok. Outputs, results and steps of the parent
// are carried over, its steps count towards MaxSteps, and its bundle stays as it
// is. Without an edge from the checkpoint the new run completes at once.
//
// The errors are those of Start for the new run, those of runbundle.Read for the
// parent, and a *NotWaitingError, a *SourceChangedError or a *NodeGoneError. On
// an error nothing is left on disk.
//
// Spec: workflow engine, Continuation runs.
func (e *Engine) Continue(ctx context.Context, g *workflow.Graph, o ContinueOptions) (*Run, error) {
	if err := runbundle.CheckRunID(o.Parent); err != nil {
		return nil, err
	}
	r, err := e.newRun(ctx, g, StartOptions{
		RunID: o.RunID, Input: o.Answer, Reserve: o.Reserve, Fence: o.Fence, Observe: o.Observe,
	})
	if err != nil {
		return nil, err
	}
	init, at, err := r.inherit(o)
	if err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		r.cancel(nil)
		return nil, err
	}
	return r.launch(ctx, init, at)
}

// NotWaitingError refuses an answer to a run that does not wait for one.
type NotWaitingError struct {
	RunID  string
	Status runbundle.Status
}

func (e *NotWaitingError) Error() string {
	return fmt.Sprintf("run %s is %s, it does not wait at a checkpoint: answer a run that is waiting", e.RunID, e.Status)
}

// ErrorCode is the stable code of the error.
func (*NotWaitingError) ErrorCode() string { return "not_waiting" }

// inherit returns what the run has from its parent, and where it begins.
func (r *Run) inherit(o ContinueOptions) (init runbundle.Init, at place, err error) {
	parent, err := runbundle.Read(r.e.bundle(o.Parent))
	if err != nil {
		return init, at, err
	}
	s := &parent.State
	switch {
	case s.Status != runbundle.Waiting || s.WaitingOn == "":
		return init, at, &NotWaitingError{RunID: o.Parent, Status: s.Status}
	case len(s.Steps) == 0 || s.Steps[len(s.Steps)-1].NodeID != s.WaitingOn:
		return init, at, r.e.corrupt(o.Parent, fmt.Errorf("it waits on node %s, which is not its last step", s.WaitingOn))
	}
	id, err := identityOf(r.graph)
	if err != nil {
		return init, at, err
	}
	init.Parent = s
	if init.Insistence, err = id.check(s, o.Force); err != nil {
		return init, at, err
	}
	r.retrace(s.Steps)
	at.next, at.end, err = r.afterLast(s, true)
	return init, at, err
}
