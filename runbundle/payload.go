package runbundle

import (
	"encoding/json"
	"fmt"
)

// Payload is what one event says: a value of one of the types in this file.
type Payload interface {
	// Type is the type of the event.
	Type() EventType
	// fold changes the state; the event was admitted, so it cannot fail.
	fold(s *State, e Event)
}

// RunStarted opens the trace.
type RunStarted struct {
	WorkflowName string          `json:"workflowName"`
	RunTitle     string          `json:"runTitle,omitempty"`
	Input        json.RawMessage `json:"input"`
	// ContinuedFrom is the run that a continuation continues, Checkpoint the node
	// at which that run waits. Both are empty for every other run.
	ContinuedFrom string `json:"continuedFrom,omitempty"`
	Checkpoint    string `json:"checkpoint,omitempty"`
	// CarriedSteps is how many steps a continuation has from its parent; it is
	// never zero, because the checkpoint is one of them.
	CarriedSteps int `json:"carriedSteps,omitempty"`
	Insistence
}

// Insistence says that a run goes on under another definition than the one
// that it was recorded with, because somebody insisted. The two go together.
type Insistence struct {
	WorkflowSourceMismatch bool `json:"workflowSourceMismatch,omitempty"`
	Forced                 bool `json:"forced,omitempty"`
}

// NodeStarted opens an attempt.
type NodeStarted struct {
	NodeType     string `json:"nodeType"`
	StatusDetail string `json:"statusDetail,omitempty"`
}

// PromptSent keeps the full text that an agent is about to get.
type PromptSent struct {
	Prompt string `json:"prompt"`
}

// UpdatePublished is progress of the running attempt.
type UpdatePublished struct {
	UpdateID string          `json:"updateId"`
	Kind     string          `json:"type"`
	Key      string          `json:"key"`
	Data     json.RawMessage `json:"data"`
}

// NodeEnded closes an attempt.
type NodeEnded struct {
	Outcome    Outcome `json:"outcome"`
	DurationMs int64   `json:"durationMs"`
	// Output is set if the outcome is ok, null if the node has none.
	Output json.RawMessage `json:"output,omitempty"`
	// Error is set for every other outcome.
	Error string `json:"error,omitempty"`
	// ErrorCode is the stable code that goes with Error. It is ours, as that of
	// State is: without it a run that is resumed here would end otherwise.
	ErrorCode    string        `json:"errorCode,omitempty"`
	Action       *Receipt      `json:"action,omitempty"`
	Conversation *Conversation `json:"conversation,omitempty"`
}

// RunPaused holds a run at the border of a step until RunResumed.
type RunPaused struct{}

// RunResumed lets a run go on: after a pause, without any field; or under a new
// owner, after the old one parked it or died.
type RunResumed struct {
	// ResumeAt is the node that runs next; empty if the run ends at once.
	ResumeAt string `json:"resumeAt,omitempty"`
	// ReplayedSteps is how many steps are recorded and not run again. It is set,
	// to zero too, under a new owner only.
	ReplayedSteps *int `json:"replayedSteps,omitempty"`
	Insistence
}

// RunEnded is the last event of a run that ended by itself or was cancelled.
type RunEnded struct {
	Status      Status          `json:"status"`
	Error       string          `json:"error,omitempty"`
	ErrorCode   string          `json:"errorCode,omitempty"`
	WaitingOn   string          `json:"waitingOn,omitempty"`
	FinalOutput json.RawMessage `json:"finalOutput,omitempty"`
}

// RunInterrupted is the last event of a run whose host went away or stopped.
// The state becomes failed; who waits for the run may start it again.
type RunInterrupted struct {
	Error string `json:"error"`
}

// IncludeEntered says that the run entered an included workflow.
type IncludeEntered struct {
	// MountPath names the mounts on the way from the root.
	MountPath    []string `json:"mountPath"`
	WorkflowName string   `json:"workflowName"`
	// Invocation counts the entries of the mount in the run from one.
	Invocation int `json:"invocation"`
}

// IncludeExited says that the run left an included workflow. The fields are those
// of its entry and what the parent sees of it.
type IncludeExited struct {
	IncludeEntered
	Exit   string          `json:"exit"`
	Output json.RawMessage `json:"output"`
}

// unknown is the payload of an event that this program does not know.
type unknown struct{ kind EventType }

// Decode returns the payload in its type. An unknown type of event has a
// payload of an unexported type.
func (e Event) Decode() (Payload, error) {
	switch e.Type {
	case EventRunStarted:
		return decode[RunStarted](e)
	case EventNodeStarted:
		return decode[NodeStarted](e)
	case EventPromptSent:
		return decode[PromptSent](e)
	case EventUpdatePublished:
		return decode[UpdatePublished](e)
	case EventNodeFinished, EventNodeFailed:
		return decode[NodeEnded](e)
	case EventRunPaused:
		return RunPaused{}, nil
	case EventRunResumed:
		return decode[RunResumed](e)
	case EventRunInterrupted:
		return decode[RunInterrupted](e)
	case EventIncludeEntered:
		return decode[IncludeEntered](e)
	case EventIncludeExited:
		return decode[IncludeExited](e)
	case EventRunCompleted, EventRunWaiting, EventRunFailed, EventRunTimedOut, EventRunCancelled:
		return decode[RunEnded](e)
	default:
		return unknown{kind: e.Type}, nil
	}
}

func decode[P Payload](e Event) (Payload, error) {
	var p P
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return nil, fmt.Errorf("payload of %s: %w", e.Type, err)
	}
	if p.Type() != e.Type {
		return nil, fmt.Errorf("payload of %s says that it is %s", e.Type, p.Type())
	}
	return p, nil
}

// Type returns EventRunStarted.
func (RunStarted) Type() EventType { return EventRunStarted }

// Type returns EventNodeStarted.
func (NodeStarted) Type() EventType { return EventNodeStarted }

// Type returns EventPromptSent.
func (PromptSent) Type() EventType { return EventPromptSent }

// Type returns EventUpdatePublished.
func (UpdatePublished) Type() EventType { return EventUpdatePublished }

// Type returns EventNodeFinished or EventNodeFailed.
func (p NodeEnded) Type() EventType {
	if p.Outcome == OutcomeOK {
		return EventNodeFinished
	}
	return EventNodeFailed
}

// Type returns EventRunPaused.
func (RunPaused) Type() EventType { return EventRunPaused }

// Type returns EventRunResumed.
func (RunResumed) Type() EventType { return EventRunResumed }

// Type returns EventIncludeEntered.
func (IncludeEntered) Type() EventType { return EventIncludeEntered }

// Type returns EventIncludeExited.
func (IncludeExited) Type() EventType { return EventIncludeExited }

// Type returns "run_" and the status.
func (p RunEnded) Type() EventType { return EventType("run_" + string(p.Status)) }

// Type returns EventRunInterrupted.
func (RunInterrupted) Type() EventType { return EventRunInterrupted }

// Type returns the type that the event has.
func (u unknown) Type() EventType { return u.kind }
