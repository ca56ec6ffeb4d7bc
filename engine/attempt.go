package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"piworkflows/clock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// attempt is one running attempt. Only the goroutine of the run uses it.
type attempt struct {
	r       *Run
	node    workflow.Node
	c       *workflow.Context
	started time.Time

	// ctx ends at the deadline, at a stop of the run, and at the latest when the
	// attempt is over, so that work that a callback left behind notices.
	ctx  context.Context
	over context.CancelCauseFunc

	receipt      *runbundle.Receipt
	conversation *runbundle.Conversation
}

// verdict is how an attempt ended.
type verdict struct {
	outcome workflow.Outcome
	output  json.RawMessage // ok
	err     error           // all else
}

// code is the stable code of an attempt that was not ok: the one with which the
// run ends if no edge follows.
func (v verdict) code() string {
	switch {
	case v.outcome == workflow.Cancelled:
		return CodeCancelled
	case v.outcome == workflow.TimedOut && !fatal(v.err):
		return CodeTimeout
	default:
		return codeOf(v.err, CodeNode)
	}
}

// errOver is the cause with which the context of an ended attempt ends.
var errOver = errors.New("the attempt is over")

// begin records the start of an attempt.
func (r *Run) begin(node workflow.Node) (*attempt, error) {
	a := &attempt{r: r, node: node, started: runbundle.At(r.e.o.Clock.Now()).Time}
	a.ctx, a.over = context.WithCancelCause(r.ctx)
	lost := func(err error) { a.over(&RecordError{RunID: r.o.RunID, Err: err}) }
	a.c = r.scopes.Context(node.NodeID(), &workflow.Context{
		RunID: r.o.RunID, AttemptID: r.e.o.NewID(), Input: bytes.Clone(r.input), View: r.viewFor(lost),
	})
	err := a.append(runbundle.NodeStarted{NodeType: string(node.Type()), StatusDetail: node.Detail()})
	if err != nil {
		a.over(errOver)
	}
	return a, err
}

// append records what happens in the attempt.
func (a *attempt) append(p runbundle.Payload) error {
	at := a.started
	if p.Type() != runbundle.EventNodeStarted {
		at = a.r.e.o.Clock.Now()
	}
	return a.r.append(runbundle.Draft{At: at, NodeID: a.node.NodeID(), AttemptID: a.c.AttemptID, Payload: p})
}

// run does the work of the node under its deadline, which begins once the attempt is
// admitted.
func (a *attempt) run() verdict {
	defer a.over(errOver)
	if err := a.admitted(); err != nil {
		return a.judge(nil, err)
	}
	limit, err := a.deadline()
	if err != nil {
		return a.judge(nil, err)
	}
	if limit > 0 {
		ctx, cancel := clock.WithTimeoutCause(a.ctx, a.r.e.o.Clock, limit, &TimeoutError{After: limit})
		defer cancel()
		a.ctx = ctx
	}
	return a.judge(a.dispatch())
}

// deadline returns the time that the attempt has; zero is no limit.
func (a *attempt) deadline() (time.Duration, error) {
	limits := a.node.Deadline()
	d := limits.Timeout
	if limits.TimeoutFunc != nil {
		var err error
		d, err = bounded(a.ctx, a.r.e, "the timeout function of node "+a.node.NodeID(), func(ctx context.Context) (time.Duration, error) {
			return limits.TimeoutFunc(ctx, a.c)
		})
		if err != nil {
			return 0, err
		}
	}
	if d == 0 {
		d = a.r.e.o.DefaultTimeout
	}
	switch {
	case d == workflow.NoTimeout:
		return 0, nil
	case d < time.Millisecond:
		return 0, fmt.Errorf("timeout of node %s is %s: give at least 1ms, or workflow.NoTimeout", a.node.NodeID(), d)
	}
	return d, nil
}

// dispatch does what a node of its kind does.
func (a *attempt) dispatch() (json.RawMessage, error) {
	switch n := a.node.(type) {
	case workflow.Compute:
		return a.callback(n.Run)
	case workflow.Action:
		return a.function(n)
	case workflow.Shell:
		return a.command(n)
	case workflow.Agent:
		return a.agent(n)
	case workflow.Notify:
		return a.notify(n)
	case workflow.Checkpoint:
		return a.checkpoint(n)
	default:
		return nil, fmt.Errorf("node %s is a %T, which this engine does not run", a.node.NodeID(), a.node)
	}
}

// judge turns what the work came to into a verdict. The causes with which the
// engine ends an attempt come back from call as they are, so the order is: the
// stop of this run, a deadline, and all else is a failure, foreign
// cancellations and deadlines included. Spec: workflow engine, Outcomes.
func (a *attempt) judge(output json.RawMessage, err error) verdict {
	var timeout *TimeoutError
	switch {
	case err == nil:
		return verdict{outcome: workflow.OK, output: output}
	case a.r.stop(err) != nil:
		return verdict{outcome: workflow.Cancelled, err: err}
	case errors.As(err, &timeout):
		return verdict{outcome: workflow.TimedOut, err: err}
	default:
		return verdict{outcome: workflow.Failed, err: err}
	}
}

// outside makes the record durable and asks whether the run is still ours. It
// comes before everything that the world outside can see.
func (a *attempt) outside() error {
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	if err := a.r.w.Sync(a.r.base); err != nil {
		return &RecordError{RunID: a.r.o.RunID, Err: err}
	}
	return nil
}

// what names the work of the node in errors.
func (a *attempt) what(of string) string { return of + " of node " + a.node.NodeID() }
