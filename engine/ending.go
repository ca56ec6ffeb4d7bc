package engine

import (
	"context"
	"encoding/json"
	"errors"

	"piworkflows/runbundle"
	"piworkflows/secret"
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
	// parked says that the run has no end yet and goes on elsewhere.
	parked bool
}

// unrouted is the end of a run whose last attempt was not ok.
func unrouted(v verdict) *ending {
	end := &ending{status: runbundle.Failed, err: v.err, code: v.code()}
	if v.outcome == workflow.TimedOut {
		end.status = runbundle.TimedOut
	}
	return end
}

func failure(err error) *ending {
	return &ending{status: runbundle.Failed, err: err, code: codeOf(err, CodeNode)}
}

// stopped is the end of a run that was told to end.
func (r *Run) stopped(err error) *ending {
	s := r.stop(err)
	switch {
	case s != nil && s.order == toInterrupt:
		return &ending{status: runbundle.Failed, err: s, code: runbundle.CodeInterrupted, interrupted: true}
	case s != nil && s.order == toPark:
		return &ending{parked: true}
	default:
		return &ending{status: runbundle.Cancelled, err: err, code: CodeCancelled}
	}
}

// stop returns the order to end that err carries, if it is the one of this run.
func (r *Run) stop(err error) *stop {
	var s *stop
	if cause := context.Cause(r.ctx); cause != nil && errors.As(cause, &s) && errors.Is(err, s) {
		return s
	}
	return nil
}

// conclude records the end of the run. One that a disk refused has none: that there
// may be space by now must not make a failure of it.
func (r *Run) conclude(end *ending) error {
	if isRefusal(end.err) {
		return end.err
	}
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
		RunID: r.o.RunID, Status: end.status, FinalOutput: secret.RedactJSON(end.output), WaitingOn: end.waitingOn,
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

// leave gives up the bundle of a parked run, whose record is durable then.
func (r *Run) leave() Result {
	result := Result{RunID: r.o.RunID, Status: runbundle.Running, Parked: true}
	if err := r.w.Close(); err != nil {
		result.Err = &RecordError{RunID: r.o.RunID, Err: err}
	}
	return result
}
