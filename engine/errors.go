package engine

import (
	"errors"
	"fmt"
	"time"

	"piworkflows/internal/durable"
	"piworkflows/workflow"
)

// The codes of a Result that are the engine's own. A typed error with an
// ErrorCode brings its own.
const (
	// CodeNode is the code of a failed node without an edge for it, CodeTimeout
	// of one that timed out.
	CodeNode    = "node_failed"
	CodeTimeout = "node_timed_out"
	// CodeCancelled is the code of a cancelled run.
	CodeCancelled = "run_cancelled"
	// CodeMaxSteps is the code of a run that used up its attempts; its error is a
	// *workflow.StepLimitError.
	CodeMaxSteps = "max_steps"
	// CodeUnsettled is the code of a run whose ended attempt went on working.
	CodeUnsettled = "work_unsettled"
	// CodeRecord is the code of a run that could not be recorded.
	CodeRecord = "record_failed"
	// CodeDecisionBlocked is the code of a run that ended with a decision whose
	// limit was used up.
	CodeDecisionBlocked = "decision_blocked"
)

// ErrStepOver refuses a submission after the first one that was accepted, and
// everything after the end of the attempt. Its code is "step_over".
var ErrStepOver error = stepOverError{}

type stepOverError struct{}

func (stepOverError) Error() string {
	return "the step is over: nothing more is accepted for this attempt"
}

// ErrorCode is the stable code of the error.
func (stepOverError) ErrorCode() string { return "step_over" }

// SubmissionError rejects a submission. The step stays open: the agent may
// correct the answer and submit again. The message is written for the agent.
type SubmissionError struct {
	NodeID string
	// Err is the reason: that of the author's validator, a *canonical.Error with
	// a JSON pointer, or a *limit.Error.
	Err error
	// Text is set if the submission was taken as plain text, and says why no JSON
	// was found in it.
	Text error
}

func (e *SubmissionError) Error() string {
	if e.Text == nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v; the answer was read as plain text, because %v", e.Err, e.Text)
}

// Unwrap returns the reason.
func (e *SubmissionError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*SubmissionError) ErrorCode() string { return "submission_rejected" }

// DecisionBlockedError says that the limit of a decision was used up before an
// answer was accepted. It ends the run: no edge is asked, because a decision
// does not recover through itself. Spec: control loops, Progress and limits.
type DecisionBlockedError struct {
	NodeID string
	// Limit is the limit with its name.
	Limit workflow.DecisionLimit
	// Rejections counts the submissions that were rejected, and Reason is that of
	// the last one; it may be empty.
	Rejections int
	Reason     string
}

func (e *DecisionBlockedError) Error() string {
	spent, last := "without a submission", ""
	if e.Rejections > 0 {
		spent = fmt.Sprintf("after %d rejected", e.Rejections)
		last = "; the last was rejected because " + e.Reason
	}
	return fmt.Sprintf("decision %s is blocked: its limit %q (active time %s, submissions %d) is used up %s: "+
		"ask what can be answered, or raise the limit%s", e.NodeID, e.Limit.Name, e.Limit.Active, e.Limit.Submissions, spent, last)
}

// ErrorCode is the stable code of the error.
func (*DecisionBlockedError) ErrorCode() string { return CodeDecisionBlocked }

// InputError says that a workflow refuses a run input. Nothing was written.
type InputError struct {
	Workflow string
	Err      error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("workflow %s refuses the input: %v", e.Workflow, e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*InputError) ErrorCode() string { return "invalid_input" }

// TimeoutError ends an attempt as timed_out: the engine makes one for each
// deadline of its own, and a callback may return one for a deadline that it
// keeps itself. A context.DeadlineExceeded of other origin is a failure.
type TimeoutError struct {
	// What names what took too long; "" is the attempt itself.
	What string
	// After is the time that it had.
	After time.Duration
}

func (e *TimeoutError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("timed out after %d ms: raise the timeout of the node, or give it less to do", e.After.Milliseconds())
	}
	return fmt.Sprintf("%s timed out after %d ms", e.What, e.After.Milliseconds())
}

// ErrorCode is the stable code of the error.
func (*TimeoutError) ErrorCode() string { return CodeTimeout }

// UnsettledError says that work of an ended attempt went on. The run is not
// routed, because two steps would then work at once.
type UnsettledError struct {
	// What goes on.
	What string
	// Grace is how long it was waited for.
	Grace time.Duration
	// Cause is why the attempt ended.
	Cause error
	// returned is closed once it goes on no more.
	returned <-chan struct{}
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("%s still works %d ms after its attempt ended (%v): let it return when its context ends",
		e.What, e.Grace.Milliseconds(), e.Cause)
}

// Unwrap returns why the attempt ended.
func (e *UnsettledError) Unwrap() error { return e.Cause }

// ErrorCode is the stable code of the error.
func (*UnsettledError) ErrorCode() string { return CodeUnsettled }

// PanicError says that a callback panicked; its stack is in the log.
type PanicError struct {
	// What panicked, with Value.
	What, Value string
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %s", e.What, e.Value) }

// ErrorCode is the stable code of the error.
func (*PanicError) ErrorCode() string { return "callback_panicked" }

// RecordError says that the record of a run could not be written, so that the
// run cannot go on.
type RecordError struct {
	RunID string
	Err   error
}

func (e *RecordError) Error() string {
	next := "the run stops here"
	switch {
	case durable.IsDiskFull(e.Err):
		next = "free space on the disk of the runs folder, then run again"
	case durable.IsReadOnly(e.Err):
		next = "make the runs folder writable, or name another one, then run again"
	}
	return fmt.Sprintf("run %s cannot be recorded: %v: %s", e.RunID, e.Err, next)
}

// Unwrap returns the error of the file layer or of the fence.
func (e *RecordError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error; a lost claim has its own.
func (e *RecordError) ErrorCode() string { return codeOf(e.Err, CodeRecord) }

// CommandError says that a command failed.
type CommandError struct {
	// Command is the command line with quoted arguments.
	Command string
	// ExitCode is nil if a signal, named by Signal, ended it.
	ExitCode *int
	Signal   string
	// Stderr is the end of what it wrote there.
	Stderr string
}

func (e *CommandError) Error() string {
	how := "signal " + e.Signal
	if e.ExitCode != nil {
		how = fmt.Sprintf("exit %d", *e.ExitCode)
	}
	if e.Stderr == "" {
		return fmt.Sprintf("command %s: %s", e.Command, how)
	}
	return fmt.Sprintf("command %s: %s: %s", e.Command, how, e.Stderr)
}

// ErrorCode is the stable code of the error.
func (*CommandError) ErrorCode() string { return "command_failed" }

// codeOf returns the code that an error brings, or the fallback.
func codeOf(err error, fallback string) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return fallback
}
