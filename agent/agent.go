// Package agent has the executors of agent steps: a script for tests and demos,
// a person at the terminal, and the logic of a conversation that every agent
// needs who is talked to by messages and answers by calls of a tool.
//
// Spec: workflow engine, Agent steps.
package agent

import (
	"context"
	"fmt"

	"piworkflows/engine"
	"piworkflows/runbundle"
)

// Kind is why a message is delivered.
type Kind string

// The kinds of messages.
const (
	// KindStep hands over a step, with its full prompt.
	KindStep Kind = "step"
	// KindReminder asks for the result of a step about which the agent fell
	// silent.
	KindReminder Kind = "reminder"
	// KindResume hands over the step again, after a person held the agent.
	KindResume Kind = "resume"
)

// Message is what an agent is told.
type Message struct {
	Kind     Kind
	Contract engine.AgentContract
	// RunTitle and StatusDetail are for display; either may be empty.
	RunTitle, StatusDetail string
	// Text is what the agent reads.
	Text string
}

// Transport carries messages to one agent. What the agent does about them comes
// back through the methods of Conversation.
type Transport interface {
	// Deliver returns once the agent has the message, not once it has answered;
	// the answer may come before it returns. An error fails the attempt.
	Deliver(ctx context.Context, m Message) error
}

// Recorder is a Transport that keeps the conversation and can tell which of it
// belongs to a step.
type Recorder interface {
	// Mark names the place where the conversation stands. It is asked before a
	// step is delivered; an error counts as one of the delivery.
	Mark(ctx context.Context) (mark string, err error)
	// Since returns the range of entries after a mark. It is asked once a result
	// was accepted, and an error leaves the step without a range.
	Since(ctx context.Context, mark string) (*runbundle.Conversation, error)
}

// Aborter is a Transport that wants to know of a step that ended without the
// agent.
type Aborter interface {
	// Abort is called once for a step whose context ended, with the cause.
	Abort(c engine.AgentContract, cause error)
}

// message writes a message about a step.
func message(kind Kind, r engine.AgentRequest) Message {
	m := Message{Kind: kind, Contract: r.Contract, RunTitle: r.RunTitle, StatusDetail: r.StatusDetail, Text: r.Prompt}
	if kind == KindReminder {
		m.Text = reminder(r.Contract)
	}
	return m
}

func reminder(c engine.AgentContract) string {
	return fmt.Sprintf("Step %s (attempt %s) of the workflow %s is still open: no result of it was accepted. Call the tool `workflow` with:\n"+
		"%s\nThe result must be: %s", c.NodeID, c.AttemptID, c.WorkflowName, c.SubmitCall(), c.Expected())
}
