package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// ResumeOptions say which run goes on. Fence and Observe mean what they mean in
// StartOptions.
type ResumeOptions struct {
	// RunID names the run; its bundle lies in Options.RunsDir. Required.
	RunID string
	// Force lets the run go on with a definition that is not the one that it was
	// recorded with. The record says so.
	Force bool
	// Cancel ends the run as cancelled instead, before another step; a run of
	// which only the end is missing ends as it would have.
	Cancel  bool
	Fence   func(ctx context.Context) error
	Observe func(e runbundle.Event, v workflow.View)
}

// Resume takes up a run that was parked, or whose owner died, where its record
// ends: no recorded step runs again, the node of an attempt without an end
// begins anew, and the steps so far count towards MaxSteps. The caller holds the
// claim of the run. The run goes on after Resume returns, and is not paused;
// canceling ctx ends Resume, not the run. A run whose record cannot be routed
// ends as failed.
//
// On an error the bundle is as it was, but for a torn last line: an *runbundle.EndedError for a run that
// has ended, a *SourceChangedError, a *NodeGoneError, an oslock.ErrHeld if its
// owner lives, a lease.ErrLost, fs.ErrNotExist and the other errors of
// runbundle.Read, a *RecordError with that of the file layer.
//
// Spec: workflow engine, Resume of an interrupted run.
func (e *Engine) Resume(ctx context.Context, g *workflow.Graph, o ResumeOptions) (*Run, error) {
	if err := runbundle.CheckRunID(o.RunID); err != nil {
		return nil, err
	}
	r, err := e.newRun(ctx, g, StartOptions{RunID: o.RunID, Fence: o.Fence, Observe: o.Observe})
	if err != nil {
		return nil, err
	}
	p := resumption{r: r, force: o.Force}
	events, err := p.begin(ctx)
	if err != nil {
		r.cancel(nil)
		return nil, err
	}
	if o.Cancel {
		r.Cancel()
	}
	go r.drive(events, p.at)
	return r, nil
}

// NodeGoneError says that a run, forced to go on with another definition,
// stands at a node that this definition does not have. Nothing was written.
type NodeGoneError struct{ RunID, Workflow, Node string }

func (e *NodeGoneError) Error() string {
	return fmt.Sprintf("run %s stands at node %q, which workflow %s does not have any more: "+
		"use the program that recorded it, or start the workflow anew", e.RunID, e.Node, e.Workflow)
}

// ErrorCode is the stable code of the error.
func (*NodeGoneError) ErrorCode() string { return "node_gone" }

// resumption is a run that is being taken up.
type resumption struct {
	r     *Run
	force bool

	at     place
	drafts []runbundle.Draft
}

// begin becomes the owner of the bundle and records that the run goes on.
func (p *resumption) begin(ctx context.Context) (events []runbundle.Event, err error) {
	r := p.r
	if r.w, err = runbundle.Open(ctx, r.recording(), r.e.bundle(r.o.RunID), p.admit); err != nil {
		return nil, r.refused(err)
	}
	for _, d := range p.drafts {
		e, err := r.w.Append(ctx, d)
		if err != nil {
			return nil, errors.Join(&RecordError{RunID: r.o.RunID, Err: err}, r.w.Close())
		}
		events = append(events, e)
	}
	return events, nil
}

// refused tells what the bundle itself refuses from what kept it from being
// written.
func (r *Run) refused(err error) error {
	if codeOf(err, "") != "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, oslock.ErrHeld) {
		return err
	}
	return &RecordError{RunID: r.o.RunID, Err: err}
}

// admit takes from the record what the run needs to go on.
func (p *resumption) admit(b *runbundle.Bundle) error {
	r, s := p.r, &b.State
	id, err := identityOf(r.graph)
	if err != nil {
		return err
	}
	insistence, err := id.check(s, p.force)
	if err != nil {
		return err
	}
	r.retrace(s.Steps)
	if p.at, err = r.placeIn(s); err != nil {
		return err
	}
	r.title, r.input = s.RunTitle, s.Input
	if s.TraceSeq == 0 { // the owner died between the bundle and its first event
		p.drafts = append(p.drafts, s.Started())
	}
	if d, lost := r.lost(b); lost {
		p.drafts = append(p.drafts, d)
	}
	replayed := len(s.Steps)
	p.drafts = append(p.drafts, runbundle.Draft{At: r.e.o.Clock.Now(), Payload: runbundle.RunResumed{
		ResumeAt: p.at.next, ReplayedSteps: &replayed, Insistence: insistence,
	}})
	return nil
}

// placeIn returns where a run that has not ended goes on.
func (r *Run) placeIn(s *runbundle.State) (at place, err error) {
	switch {
	case s.CurrentNode != "":
		at.next = s.CurrentNode
		_, err = r.node(s, at.next)
	case len(s.Steps) == 0:
		at.next = r.graph.StartAt()
	default:
		at.next, at.end, err = r.afterLast(s, len(s.Steps) == s.CarriedStepCount)
	}
	return at, err
}

// afterLast decides what follows the last recorded step; a checkpoint that was
// answered is a step like any other.
func (r *Run) afterLast(s *runbundle.State, answered bool) (next string, end *ending, err error) {
	last := s.Steps[len(s.Steps)-1]
	node, err := r.node(s, last.NodeID)
	if err != nil {
		return "", nil, err
	}
	result, exists := s.Results[last.NodeID]
	if !exists {
		return "", nil, r.e.corrupt(s.RunID, fmt.Errorf("node %s has a step and no result", last.NodeID))
	}
	if answered {
		next, end = r.route(verdictOf(last), resultOf(result))
	} else {
		next, end = r.after(node, verdictOf(last), resultOf(result))
	}
	return next, end, nil
}

// bundle returns the folder of a run.
func (e *Engine) bundle(runID string) string { return filepath.Join(e.o.RunsDir, runID) }

// corrupt says what is wrong with the state of a run.
func (e *Engine) corrupt(runID string, err error) error {
	return &runbundle.CorruptError{Path: filepath.Join(e.bundle(runID), "state.json"), Err: err}
}

// node returns a node that a record names.
func (r *Run) node(s *runbundle.State, id string) (workflow.Node, error) {
	if node, exists := r.graph.Node(id); exists {
		return node, nil
	}
	return nil, &NodeGoneError{RunID: s.RunID, Workflow: r.graph.Name(), Node: id}
}

// verdictOf returns how a recorded step ended.
func verdictOf(s runbundle.Step) verdict {
	if s.Outcome == runbundle.OutcomeOK {
		return verdict{outcome: workflow.OK, output: s.Output}
	}
	return verdict{outcome: workflow.Outcome(s.Outcome), err: &pastError{text: s.Error, code: s.ErrorCode}}
}

// pastError is the error of a recorded step.
type pastError struct{ text, code string }

func (e *pastError) Error() string { return e.text }

// ErrorCode is the code that was recorded with it.
func (e *pastError) ErrorCode() string { return orDefault(e.code, CodeNode) }
