package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"piworkflows/engine"
	"piworkflows/workflow"
)

// BusyError refuses a step because another one is pending: one agent does one
// step at a time.
type BusyError struct{ Pending, Refused engine.AgentContract }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the agent still does step %s of run %s and cannot begin step %s of run %s: give each run an agent of its own",
		e.Pending.NodeID, e.Pending.RunID, e.Refused.NodeID, e.Refused.RunID)
}

// ErrorCode is the stable code of the error.
func (*BusyError) ErrorCode() string { return "agent_busy" }

// DeliveryError says that an agent could not be told something.
type DeliveryError struct {
	NodeID string
	Kind   Kind
	Err    error
}

func (e *DeliveryError) Error() string {
	return fmt.Sprintf("the %s message for node %s was not delivered to the agent: %v", e.Kind, e.NodeID, e.Err)
}

// Unwrap returns the error of the transport.
func (e *DeliveryError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*DeliveryError) ErrorCode() string { return "agent_delivery_failed" }

// SilentError says that an agent was reminded as often as it may be, and fell
// silent again without a result that was accepted.
type SilentError struct {
	NodeID string
	// Reminders is how often it was reminded.
	Reminders int
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("the agent ended its turn without an accepted result for node %s, %d reminders notwithstanding: "+
		"look at its conversation for what it could not do", e.NodeID, e.Reminders)
}

// ErrorCode is the stable code of the error.
func (*SilentError) ErrorCode() string { return "agent_silent" }

// Refusal is why a submission was not even looked at.
type Refusal string

// The refusals of a submission.
const (
	// NothingPending says that no step waits for a result.
	NothingPending Refusal = "nothing_pending"
	// WrongStep says that another step waits for one.
	WrongStep Refusal = "wrong_step"
	// StaleAttempt says that the step waits for one, but in a later attempt: the
	// submission was meant for an earlier turn of a loop.
	StaleAttempt Refusal = "stale_attempt"
	// StepOver says that the step ended while the submission was checked.
	StepOver Refusal = "step_over"
)

// RefusedError says that a submission belongs to no pending step. Nothing has
// changed. The message is written for the agent.
type RefusedError struct {
	Reason Refusal
	// Step and Attempt are what the submission named.
	Step, Attempt string
	// Pending is the step that waits; empty if none does.
	Pending engine.AgentContract
}

func (e *RefusedError) Error() string {
	switch e.Reason {
	case NothingPending:
		return "no step waits for a result now: do not submit again until a step is handed to you"
	case WrongStep:
		return fmt.Sprintf("step %q is not the one that waits for a result: that is step %q, attempt %q",
			e.Step, e.Pending.NodeID, e.Pending.AttemptID)
	case StaleAttempt:
		return fmt.Sprintf("attempt %q of step %q is over: the step waits for a result in attempt %q", e.Attempt, e.Step, e.Pending.AttemptID)
	default:
		return fmt.Sprintf("attempt %q of step %q is over: nothing more is accepted for it", e.Attempt, e.Step)
	}
}

// ErrorCode is the stable code of the error.
func (*RefusedError) ErrorCode() string { return "submission_refused" }

// Reply is what an agent is told about its submission, given what Submit
// returned.
func Reply(err error) string {
	var rejected *engine.SubmissionError
	switch {
	case err == nil:
		return "The result is accepted and the step is complete. End your turn now."
	case errors.As(err, &rejected):
		return fmt.Sprintf("The result is not accepted: %v\nThe step is still open: "+
			"correct the result and submit it again with the same step and attempt.", err)
	default:
		return fmt.Sprintf("The result is not accepted: %v", err)
	}
}

// ScriptError lists everything that is wrong with a script. Nothing of it was
// played.
type ScriptError struct {
	// Problems have JSON pointers as their places; there is at least one.
	Problems []workflow.Problem
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	b.WriteString("the agent script cannot be played")
	for i, p := range e.Problems {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&b, "%sat %s: %s", separator, p.Place, p.Message)
	}
	return b.String()
}

// ErrorCode is the stable code of the error.
func (*ScriptError) ErrorCode() string { return "invalid_script" }

// ExhaustedError says that a script has no turn for what an agent is asked.
type ExhaustedError struct {
	NodeID string
	// Turns is how many the node had.
	Turns int
}

func (e *ExhaustedError) Error() string {
	if e.Turns == 0 {
		return fmt.Sprintf("the agent script has no turns for node %s: write what the agent answers there", e.NodeID)
	}
	return fmt.Sprintf("the agent script has no turn left for node %s, which had %d: write what the agent answers next", e.NodeID, e.Turns)
}

// ErrorCode is the stable code of the error.
func (*ExhaustedError) ErrorCode() string { return "script_exhausted" }

// UnusedError says that a run ended before a script did.
type UnusedError struct {
	// Left counts the turns that are left, by node.
	Left map[string]int
}

func (e *UnusedError) Error() string {
	var left []string
	for _, node := range slices.Sorted(maps.Keys(e.Left)) {
		left = append(left, fmt.Sprintf("%d for node %s", e.Left[node], node))
	}
	return "the run ended, but the agent script has turns left: " + strings.Join(left, ", ") + ": remove them, or see why nobody asked"
}

// ErrorCode is the stable code of the error.
func (*UnusedError) ErrorCode() string { return "script_unused" }

// FailedError is the failure that a script plays.
type FailedError struct{ NodeID, Message string }

func (e *FailedError) Error() string {
	return fmt.Sprintf("the agent script fails node %s: %s", e.NodeID, e.Message)
}

// ErrorCode is the stable code of the error.
func (*FailedError) ErrorCode() string { return "script_failed" }

// GaveUpError says that the person who was asked did not answer.
type GaveUpError struct{ NodeID string }

func (e *GaveUpError) Error() string {
	return fmt.Sprintf("nobody answered for node %s: the input ended", e.NodeID)
}

// ErrorCode is the stable code of the error.
func (*GaveUpError) ErrorCode() string { return "agent_gave_up" }
