package engine

import (
	"fmt"
	"time"
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
	// CodeMaxSteps is the code of a run that used up its attempts.
	CodeMaxSteps = "max_steps"
	// CodeUnsettled is the code of a run whose ended attempt went on working.
	CodeUnsettled = "work_unsettled"
	// CodeRecord is the code of a run that could not be recorded.
	CodeRecord = "record_failed"
)

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
