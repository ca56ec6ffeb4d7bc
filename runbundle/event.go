package runbundle

import (
	"encoding/json"
	"time"
)

// Scope says what an event is about.
type Scope string

// The scopes of events.
const (
	ScopeRun   Scope = "run"
	ScopeNode  Scope = "node"
	ScopeAgent Scope = "agent"
)

// EventType names what happened. Readers pass over types that they do not know.
type EventType string

// The types of events. Spec: run bundle format, trace.ndjson.
const (
	EventRunStarted      EventType = "run_started"
	EventNodeStarted     EventType = "node_started"
	EventPromptSent      EventType = "agent_prompt_sent"
	EventUpdatePublished EventType = "update_published"
	EventNodeFinished    EventType = "node_finished"
	EventNodeFailed      EventType = "node_failed"
	EventRunPaused       EventType = "run_paused"
	EventRunResumed      EventType = "run_resumed"
	EventRunInterrupted  EventType = "run_interrupted"
	EventIncludeEntered  EventType = "include_entered"
	EventIncludeExited   EventType = "include_exited"

	// The rest end a run; each is "run_" and the status.
	EventRunCompleted EventType = "run_completed"
	EventRunWaiting   EventType = "run_waiting"
	EventRunFailed    EventType = "run_failed"
	EventRunTimedOut  EventType = "run_timed_out"
	EventRunCancelled EventType = "run_cancelled"
)

// Event is one line of the trace, in plain form.
type Event struct {
	// Seq counts from one without a gap.
	Seq   int64     `json:"seq"`
	At    Time      `json:"at"`
	RunID string    `json:"runId"`
	Scope Scope     `json:"scope"`
	Type  EventType `json:"type"`
	// NodeID and AttemptID are set in the scopes node and agent.
	NodeID    string `json:"nodeId,omitempty"`
	AttemptID string `json:"attemptId,omitempty"`
	// Payload is a JSON object; [Event.Decode] gives it its type.
	Payload json.RawMessage `json:"payload"`
}

// Draft is an event before it has its place in the trace.
type Draft struct {
	// At is when it happened; the bundle keeps whole milliseconds.
	At time.Time
	// NodeID and AttemptID are set for what happens in an attempt.
	NodeID, AttemptID string
	// Payload says what happened.
	Payload Payload
}

// scope returns what events of a type are about.
func (t EventType) scope() Scope {
	switch t {
	case EventNodeStarted, EventUpdatePublished, EventNodeFinished, EventNodeFailed:
		return ScopeNode
	case EventPromptSent:
		return ScopeAgent
	default:
		return ScopeRun
	}
}

// shown reports whether the projections show an event of the type at once:
// people look at them while a run is held.
func (t EventType) shown() bool { return t == EventRunPaused || t == EventRunResumed }

// ends reports whether an event of the type is the last of its trace.
func (t EventType) ends() bool {
	switch t {
	case EventRunCompleted, EventRunWaiting, EventRunFailed, EventRunTimedOut, EventRunCancelled, EventRunInterrupted:
		return true
	default:
		return false
	}
}
