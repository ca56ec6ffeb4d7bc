package workflow

import (
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/canonical"
)

// Context is what a callback sees of its run. Every value is a copy or
// read-only: a callback cannot change the run through it.
type Context struct {
	// RunID and AttemptID identify the run and the running attempt.
	RunID, AttemptID string
	// Input is the normalised run input.
	Input json.RawMessage
	// View gives the latest outputs and results, and the steps so far. In an
	// included workflow these are its own since it was entered, under its own
	// names.
	View View
	// Publisher is what Publish uses. The engine sets it for the callbacks that may
	// publish updates; for all others it is nil.
	Publisher Publisher

	// invocation counts the entries of the mount that the node enters.
	invocation int
}

// View reads the record of a run as it stood when the attempt began, and its
// updates as they are. An implementation answers in time that does not depend on
// the number of steps.
type View interface {
	// Output returns the output of a node's latest attempt, while that attempt
	// was ok.
	Output(node string) (json.RawMessage, bool)
	// Result returns the record of a node's latest attempt.
	Result(node string) (Result, bool)
	// Steps returns the number of finished attempts.
	Steps() int
	// Step returns the i-th finished attempt, from zero, oldest first.
	Step(i int) Step
	// Updates returns the latest update of each type and key, those of the running
	// attempt included, in the order in which they were recorded. They are those of
	// the whole run, in an included workflow too; a continuation begins with none.
	Updates() []Published
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of an attempt.
const (
	// OK is an attempt whose output was accepted.
	OK Outcome = "ok"
	// Failed is an attempt that ended with an error.
	Failed Outcome = "failed"
	// TimedOut is an attempt that its deadline ended.
	TimedOut Outcome = "timed_out"
	// Cancelled is an attempt that ended with its run.
	Cancelled Outcome = "cancelled"
)

// Result is the record of a node's latest attempt; `$result.` edges read its
// JSON form.
type Result struct {
	AttemptID  string
	NodeID     string
	NodeType   NodeType
	Outcome    Outcome
	StartedAt  time.Time
	FinishedAt time.Time
	DurationMs int64
	// Output is the accepted output of an ok attempt, else nil.
	Output json.RawMessage
	// Error is the message of an attempt that was not ok, else empty.
	Error string
}

// MarshalJSON writes the record with its times in clock.Layout, without an
// output or error that it does not have.
func (r Result) MarshalJSON() ([]byte, error) {
	return canonical.Marshal(struct {
		AttemptID  string          `json:"attemptId"`
		NodeID     string          `json:"nodeId"`
		NodeType   NodeType        `json:"nodeType"`
		Outcome    Outcome         `json:"outcome"`
		StartedAt  string          `json:"startedAt"`
		FinishedAt string          `json:"finishedAt"`
		DurationMs int64           `json:"durationMs"`
		Output     json.RawMessage `json:"output,omitempty"`
		Error      string          `json:"error,omitempty"`
	}{
		r.AttemptID, r.NodeID, r.NodeType, r.Outcome,
		clock.Format(r.StartedAt), clock.Format(r.FinishedAt), r.DurationMs, r.Output, r.Error,
	})
}

// Step is one finished attempt in the history of the run. Its fields mean what
// they mean in Result.
type Step struct {
	AttemptID string
	NodeID    string
	NodeType  NodeType
	Outcome   Outcome
	Output    json.RawMessage
	Error     string
}

// InputAs decodes the run input into a T.
func InputAs[T any](c *Context) (T, error) { return decode[T](c.Input, "input") }

// OutputAs decodes the latest ok output of a node into a T. It is an error if
// the node has none.
func OutputAs[T any](c *Context, node string) (T, error) {
	raw, ok := c.View.Output(node)
	if !ok {
		var zero T
		return zero, fmt.Errorf("node %q has no output in run %s: it did not run, or its latest attempt was not ok", node, c.RunID)
	}
	return decode[T](raw, "output of node "+node)
}

func decode[T any](raw json.RawMessage, what string) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("decode the %s: %w", what, err)
	}
	return v, nil
}
