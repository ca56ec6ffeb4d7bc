package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"piworkflows/internal/durable"
	"piworkflows/internal/procgroup"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// place is where a run begins or goes on.
type place struct {
	// next is the node that runs next, unless the run ends at once with end.
	next string
	end  *ending
}

// drive runs the graph to its end; it is the goroutine of the run. The events
// that were recorded before it began are told first.
func (r *Run) drive(recorded []runbundle.Event, at place) {
	defer close(r.done)
	defer r.cancel(nil)
	r.openSpool()
	defer r.spool.Remove()
	for _, e := range recorded {
		r.observe(e)
	}
	end := r.walk(at)
	if end.parked {
		r.result = r.leave()
		return
	}
	r.result = r.resultOf(end, r.conclude(end))
	r.cleanup(end)
	if err := r.w.Close(); err != nil {
		r.e.o.Logger.ErrorContext(r.base, "run bundle not closed cleanly", "runId", r.o.RunID, "error", err)
	}
}

// walk runs one node after the other.
func (r *Run) walk(at place) *ending {
	if at.end != nil {
		return at.end
	}
	for next := at.next; ; {
		if end := r.border(); end != nil {
			return end
		}
		if err := r.scopes.Allow(next); err != nil {
			return failure(err)
		}
		var end *ending
		if next, end = r.step(next); end != nil {
			return end
		}
	}
}

// border is where a run is held or told to end between two steps.
func (r *Run) border() *ending {
	if r.ctx.Err() == nil {
		if err := r.hold(); err != nil {
			return failure(err)
		}
	}
	if err := context.Cause(r.ctx); err != nil {
		return r.stopped(err)
	}
	return nil
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
	if end := r.cutOff(v.err); end != nil {
		return "", end // the attempt is left without an end
	}
	if err := r.record(a, v); err != nil {
		return "", failure(err)
	}
	if err := r.follow(node, v); err != nil {
		return "", failure(err)
	}
	result, _ := r.view().Result(id)
	return r.after(node, v, result)
}

// after decides what follows a recorded attempt.
func (r *Run) after(node workflow.Node, v verdict, result workflow.Result) (next string, end *ending) {
	if v.outcome == workflow.Cancelled {
		return "", r.stopped(v.err)
	}
	if fatal(v.err) {
		return "", failure(v.err)
	}
	if node.Type() == workflow.TypeCheckpoint && v.outcome == workflow.OK {
		return "", &ending{status: runbundle.Waiting, waitingOn: node.NodeID(), output: v.output}
	}
	return r.route(v, result)
}

// route asks the edge of a node.
func (r *Run) route(v verdict, result workflow.Result) (next string, end *ending) {
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
	if past := (*pastError)(nil); errors.As(err, &past) {
		return past.code == CodeUnsettled || past.code == CodeDecisionBlocked
	}
	var unsettled *UnsettledError
	var record *RecordError
	var blocked *DecisionBlockedError
	return errors.As(err, &unsettled) || errors.As(err, &record) || errors.As(err, &blocked)
}

// cutOff is the end of a run whose attempt came to nothing for a reason outside of it:
// its host stops, or has no room to record it. A nil error, and any other, is none.
func (r *Run) cutOff(err error) *ending {
	if s := r.stop(err); s != nil && s.order != toCancel {
		if s.order == toPark {
			awaitWork(err)
		}
		return r.stopped(err)
	}
	if isRefusal(err) {
		return failure(err)
	}
	return nil
}

// isRefusal reports whether a disk takes no record of what was to be done: it is full
// or read-only, or a command cannot be noted. That says nothing of the run, which goes
// on where its record ends once there is space again.
func isRefusal(err error) bool {
	if unnoted := (*procgroup.LedgerError)(nil); errors.As(err, &unnoted) {
		return true
	}
	var record *RecordError
	return errors.As(err, &record) && (durable.IsDiskFull(record.Err) || durable.IsReadOnly(record.Err))
}

// awaitWork keeps the bundle of a parked run as long as work of its last attempt
// goes on: the next owner would do the same beside it.
func awaitWork(err error) {
	if unsettled := (*UnsettledError)(nil); errors.As(err, &unsettled) {
		<-unsettled.returned
	}
}

// tellUnsettled logs work that goes on although its attempt ended, because a
// stopped run does not fail with it.
func (r *Run) tellUnsettled(a *attempt, err error) {
	if unsettled := (*UnsettledError)(nil); errors.As(err, &unsettled) {
		r.e.o.Logger.WarnContext(r.base, "work of an ended attempt goes on",
			"runId", r.o.RunID, "node", a.node.NodeID(), "attemptId", a.c.AttemptID, "error", err)
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
	} else {
		ended.Error, ended.ErrorCode = textOf(v.err), v.code()
	}
	return r.append(runbundle.Draft{At: now, NodeID: a.node.NodeID(), AttemptID: a.c.AttemptID, Payload: ended})
}

// append records one event and tells the observer.
func (r *Run) append(d runbundle.Draft) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err := r.write(d)
	return err
}

// write is append for who holds the lock.
func (r *Run) write(d runbundle.Draft) (runbundle.Event, error) {
	e, err := r.w.Append(r.base, d)
	if e.Seq > 0 {
		r.observe(e)
	}
	if err != nil {
		return e, &RecordError{RunID: r.o.RunID, Err: err}
	}
	return e, nil
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
