package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// ending is how a run ends.
type ending struct {
	status    runbundle.Status
	output    json.RawMessage // completed and waiting
	waitingOn string
	err       error // all else
	code      string
	// interrupted says that the host stopped; the run did not end by itself.
	interrupted bool
}

// drive runs the graph to its end; it is the goroutine of the run.
func (r *Run) drive(started runbundle.Event) {
	defer close(r.done)
	defer r.cancel(nil)
	r.observe(started)
	end := r.walk()
	recorded := r.conclude(end)
	r.result = r.resultOf(end, recorded)
	r.cleanup(end)
	if err := r.w.Close(); err != nil {
		r.e.o.Logger.ErrorContext(r.base, "run bundle not closed cleanly", "runId", r.o.RunID, "error", err)
	}
}

// walk runs one node after the other.
func (r *Run) walk() *ending {
	most := r.maxSteps()
	next := r.graph.StartAt()
	for step := 1; ; step++ {
		if err := context.Cause(r.ctx); err != nil {
			return r.stopped(err)
		}
		if step > most {
			return failure(&MaxStepsError{Workflow: r.graph.Name(), Max: most})
		}
		var end *ending
		if next, end = r.step(next); end != nil {
			return end
		}
	}
}

func (r *Run) maxSteps() int {
	if r.graph.Definition().MaxSteps == 0 {
		return r.e.o.MaxSteps
	}
	return r.graph.MaxSteps()
}

// step runs one attempt and says which node follows, or how the run ends.
func (r *Run) step(id string) (next string, end *ending) {
	node, ok := r.graph.Node(id)
	if !ok {
		return "", failure(fmt.Errorf("workflow %s has no node %q", r.graph.Name(), id))
	}
	a, err := r.begin(node)
	if err != nil {
		return "", failure(err)
	}
	v := a.run()
	r.tellUnsettled(a, v.err)
	if s := r.stop(v.err); s != nil && s.interrupt {
		return "", r.stopped(v.err) // the attempt is left without an end
	}
	if err := r.record(a, v); err != nil {
		return "", failure(err)
	}
	return r.after(node, v)
}

// after decides what follows a recorded attempt.
func (r *Run) after(node workflow.Node, v verdict) (next string, end *ending) {
	if v.outcome == workflow.Cancelled {
		return "", r.stopped(v.err)
	}
	if fatal(v.err) {
		return "", failure(v.err)
	}
	if node.Type() == workflow.TypeCheckpoint && v.outcome == workflow.OK {
		return "", &ending{status: runbundle.Waiting, waitingOn: node.NodeID(), output: v.output}
	}
	result, _ := r.view().Result(node.NodeID())
	next, done, err := r.graph.Route(result)
	switch {
	case errors.Is(err, workflow.ErrUnrouted):
		return "", unrouted(v)
	case err != nil:
		return "", failure(err)
	case done:
		return "", &ending{status: runbundle.Completed, output: v.output}
	default:
		return next, nil
	}
}

// fatal reports whether an attempt ended so that no edge may be asked.
func fatal(err error) bool {
	var unsettled *UnsettledError
	var record *RecordError
	return errors.As(err, &unsettled) || errors.As(err, &record)
}

// tellUnsettled logs work that goes on although its attempt ended, because a
// stopped run does not fail with it.
func (r *Run) tellUnsettled(a *attempt, err error) {
	if unsettled := (*UnsettledError)(nil); errors.As(err, &unsettled) {
		r.e.o.Logger.WarnContext(r.base, "work of an ended attempt goes on",
			"runId", r.o.RunID, "node", a.node.NodeID(), "attemptId", a.c.AttemptID, "error", err)
	}
}

// unrouted is the end of a run whose last attempt was not ok.
func unrouted(v verdict) *ending {
	if v.outcome == workflow.TimedOut {
		return &ending{status: runbundle.TimedOut, err: v.err, code: CodeTimeout}
	}
	return &ending{status: runbundle.Failed, err: v.err, code: codeOf(v.err, CodeNode)}
}

func failure(err error) *ending {
	return &ending{status: runbundle.Failed, err: err, code: codeOf(err, CodeNode)}
}

// stopped is the end of a run that was told to end.
func (r *Run) stopped(err error) *ending {
	if s := r.stop(err); s != nil && s.interrupt {
		return &ending{status: runbundle.Failed, err: s, code: runbundle.CodeInterrupted, interrupted: true}
	}
	return &ending{status: runbundle.Cancelled, err: err, code: CodeCancelled}
}

// stop returns the order to end that err carries, if it is the one of this run.
func (r *Run) stop(err error) *stop {
	var s *stop
	if cause := context.Cause(r.ctx); cause != nil && errors.As(cause, &s) && errors.Is(err, s) {
		return s
	}
	return nil
}

// conclude records the end of the run.
func (r *Run) conclude(end *ending) error {
	return r.append(runbundle.Draft{At: r.e.o.Clock.Now(), Payload: end.payload()})
}

func (end *ending) payload() runbundle.Payload {
	switch {
	case end.interrupted:
		return runbundle.RunInterrupted{Error: textOf(end.err)}
	case end.err != nil:
		return runbundle.RunEnded{Status: end.status, Error: textOf(end.err), ErrorCode: end.code}
	default:
		return runbundle.RunEnded{Status: end.status, WaitingOn: end.waitingOn, FinalOutput: end.output}
	}
}

// resultOf tells the end and what of it is on disk.
func (r *Run) resultOf(end *ending, recorded error) Result {
	result := Result{
		RunID: r.o.RunID, Status: end.status, FinalOutput: end.output, WaitingOn: end.waitingOn,
		ErrorCode: end.code, Interrupted: end.interrupted, Err: recorded,
	}
	if end.err != nil {
		result.Error = textOf(end.err)
	}
	if recorded == nil || r.w.Ended() {
		return result
	}
	// What kept the run from going on says more than that it could not be told.
	if first := (*RecordError)(nil); errors.As(end.err, &first) {
		recorded = end.err
	}
	return Result{
		RunID: r.o.RunID, Status: runbundle.Running, Error: textOf(recorded), ErrorCode: codeOf(recorded, CodeRecord), Err: recorded,
	}
}

// record writes the end of an attempt.
func (r *Run) record(a *attempt, v verdict) error {
	now := r.e.o.Clock.Now()
	ended := runbundle.NodeEnded{
		Outcome: runbundle.Outcome(v.outcome), DurationMs: max(0, runbundle.At(now).Sub(a.started).Milliseconds()),
		Action: a.receipt, Conversation: a.conversation,
	}
	if v.outcome == workflow.OK {
		ended.Output = v.output
		r.count(a.node)
	} else {
		ended.Error = textOf(v.err)
	}
	return r.append(runbundle.Draft{At: now, NodeID: a.node.NodeID(), AttemptID: a.c.AttemptID, Payload: ended})
}

// append records one event and tells the observer.
func (r *Run) append(d runbundle.Draft) error {
	e, err := r.w.Append(r.base, d)
	if e.Seq > 0 {
		r.observe(e)
	}
	if err != nil {
		return &RecordError{RunID: r.o.RunID, Err: err}
	}
	return nil
}

func (r *Run) observe(e runbundle.Event) {
	if r.o.Observe == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			r.e.o.Logger.ErrorContext(r.base, "the observer of a run panicked",
				"runId", r.o.RunID, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	r.o.Observe(e, r.view())
}
