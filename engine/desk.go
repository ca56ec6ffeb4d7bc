package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

// desk takes the submissions of one attempt, one after the other, and keeps the
// limit of a decision.
type desk struct {
	a *attempt
	n workflow.Agent
	// bound is the limit of a decision, whose time is counted by time; both are
	// nil for another agent node.
	bound *workflow.DecisionLimit
	time  *worktime
	turn  chan struct{} // holds a value while a submission is being checked

	mu         sync.Mutex
	closed     bool
	accepted   json.RawMessage
	rejections int
	reason     string // of the last rejection
}

func newDesk(a *attempt, n workflow.Agent) *desk {
	d := &desk{a: a, n: n, turn: make(chan struct{}, 1)}
	if bound, limited := n.DecisionLimit(); limited {
		d.bound, d.time = &bound, newWorktime(a.r.e.o.Clock, bound.Active)
	}
	return d
}

// open begins to take submissions; what it returns ends that.
func (d *desk) open() (done func()) {
	ctx, cancel := context.WithCancel(d.a.ctx)
	var counting sync.WaitGroup
	if d.time != nil {
		counting.Go(func() { d.time.run(ctx, d.timeUp) })
	}
	return func() {
		cancel()
		counting.Wait()
		d.close()
	}
}

// hold is AgentRequest.Hold.
func (d *desk) hold() (release func()) {
	if d.time == nil {
		return func() {}
	}
	return d.time.hold()
}

// accept is AgentRequest.Accept.
func (d *desk) accept(ctx context.Context, submission json.RawMessage) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer func() { <-d.turn }()
	output, err := d.check(submission)
	if rejected := (*SubmissionError)(nil); errors.As(err, &rejected) {
		return d.reject(rejected)
	}
	if err != nil {
		return err
	}
	return d.keep(output)
}

// take waits for the turn of a submission.
func (d *desk) take(ctx context.Context) error {
	if d.over() {
		return ErrStepOver
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.a.ctx.Done():
		return ErrStepOver
	}
	if d.over() {
		<-d.turn
		return ErrStepOver
	}
	return nil
}

// check runs the pipeline of a submission. A *SubmissionError goes back to the
// agent; any other error ends the attempt.
// Spec: workflow engine, Accept pipeline.
func (d *desk) check(submission json.RawMessage) (json.RawMessage, error) {
	output, text, err := read(submission)
	if err != nil {
		return nil, &SubmissionError{NodeID: d.n.ID, Err: err}
	}
	if d.n.Validate == nil {
		return output, nil
	}
	got := protected(d.a.ctx, d.a.r.e, d.a.what("the validate function"), func(ctx context.Context) (json.RawMessage, error) {
		return d.n.Validate(ctx, d.a.c, output)
	})
	if panicked := (*PanicError)(nil); errors.As(got.err, &panicked) {
		// Not a fault of the agent, which would only try again.
		d.a.over(panicked)
		return nil, got.err
	}
	if got.err == nil {
		output, got.err = checked(d.a.what("output"), got.value)
	}
	if got.err != nil {
		return nil, &SubmissionError{NodeID: d.n.ID, Err: got.err, Text: text}
	}
	return output, nil
}

// read returns the value of a submission. For a text it is the JSON value that
// the text holds, or else the text itself, with the reason.
func read(submission json.RawMessage) (value json.RawMessage, asText, err error) {
	const what = "submission"
	if err := limit.Bytes(what, submission, workflow.MaxValueBytes); err != nil {
		return nil, nil, err
	}
	if value, err = checked(what, submission); err != nil || value[0] != '"' {
		return value, nil, err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	found, asText := tolerant(text)
	if asText != nil {
		return value, asText, nil
	}
	value, err = checked("JSON in the text of the "+what, found)
	return value, nil, err
}

// reject counts a rejection, which may be the last one that the limit of a
// decision allows.
func (d *desk) reject(rejected *SubmissionError) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended() {
		return ErrStepOver
	}
	d.rejections++
	d.reason = textOf(rejected)
	d.a.r.e.o.Logger.InfoContext(d.a.ctx, "a submission was rejected", "runId", d.a.c.RunID, "node", d.n.ID,
		"attemptId", d.a.c.AttemptID, "rejections", d.rejections, "reason", d.reason)
	if d.bound != nil && d.rejections >= d.bound.Submissions {
		return d.block()
	}
	return rejected
}

// timeUp ends a decision that took too long.
func (d *desk) timeUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended() {
		_ = d.block() // the end of the attempt carries it
	}
}

// block ends the attempt and the run with it. The lock is held.
func (d *desk) block() error {
	blocked := &DecisionBlockedError{NodeID: d.n.ID, Limit: *d.bound, Rejections: d.rejections, Reason: d.reason}
	d.closed = true
	d.a.over(blocked)
	return blocked
}

// keep makes a checked submission the result of the step, unless the attempt
// ended meanwhile.
func (d *desk) keep(output json.RawMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended() {
		return ErrStepOver
	}
	d.accepted = output
	return nil
}

func (d *desk) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended()
}

// ended reports whether nothing more is taken. The lock is held.
func (d *desk) ended() bool { return d.closed || d.accepted != nil || d.a.ctx.Err() != nil }

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

func (d *desk) result() (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accepted == nil {
		return nil, fmt.Errorf("node %s: the agent ended without a submission that was accepted", d.n.ID)
	}
	return d.accepted, nil
}
