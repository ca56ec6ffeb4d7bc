package runbundle

import "encoding/json"

// Status is the state of a run.
type Status string

// The states of a run. All but Running are final for the bundle: a waiting run
// goes on in a bundle of its own.
const (
	Running   Status = "running"
	Waiting   Status = "waiting"
	Completed Status = "completed"
	Failed    Status = "failed"
	TimedOut  Status = "timed_out"
	Cancelled Status = "cancelled"
)

// Terminal reports whether a bundle in this state never changes again.
func (s Status) Terminal() bool { return s.known() && s != Running }

func (s Status) known() bool {
	switch s {
	case Running, Waiting, Completed, Failed, TimedOut, Cancelled:
		return true
	default:
		return false
	}
}

// Outcome is how one attempt ended. Its values are those of room workflow,
// which this room does not import.
type Outcome string

// OutcomeOK is the one outcome that leaves an output.
const OutcomeOK Outcome = "ok"

func (o Outcome) known() bool {
	switch o {
	case OutcomeOK, Outcome(Failed), Outcome(TimedOut), Outcome(Cancelled):
		return true
	default:
		return false
	}
}

// State is what state.json holds, with every value in plain form: long texts
// are in place, not in artifacts. Its JSON has the keys of the format.
// Spec: run bundle format, state.json.
type State struct {
	Schema string `json:"schema"`
	// TraceSeq is the last event that is folded in.
	TraceSeq     int64  `json:"traceSeq"`
	RunID        string `json:"runId"`
	WorkflowName string `json:"workflowName"`
	RunTitle     string `json:"runTitle,omitempty"`
	// WorkflowSource says where the definition comes from; WorkflowSources the
	// same for the mounts of a composed run.
	WorkflowSource   json.RawMessage `json:"workflowSource,omitempty"`
	WorkflowSources  json.RawMessage `json:"workflowSources,omitempty"`
	DefinitionDigest string          `json:"definitionDigest,omitempty"`
	// ParentRunID and CarriedStepCount are set in a continuation.
	ParentRunID      string                     `json:"parentRunId,omitempty"`
	CarriedStepCount int                        `json:"carriedStepCount,omitempty"`
	StartedAt        Time                       `json:"startedAt"`
	UpdatedAt        Time                       `json:"updatedAt"`
	Status           Status                     `json:"status"`
	Input            json.RawMessage            `json:"input"`
	Outputs          map[string]json.RawMessage `json:"outputs"`
	Results          map[string]Result          `json:"results"`
	// Steps are the finished attempts. Fold appends and never changes one.
	Steps                []Step          `json:"steps"`
	Updates              []Update        `json:"updates"`
	CurrentNode          string          `json:"currentNode,omitempty"`
	CurrentAttemptID     string          `json:"currentAttemptId,omitempty"`
	CurrentNodeStartedAt Time            `json:"currentNodeStartedAt,omitzero"`
	StatusDetail         string          `json:"statusDetail,omitempty"`
	Paused               bool            `json:"paused,omitempty"`
	HumanDecision        json.RawMessage `json:"humanDecision,omitempty"`
	FinishedAt           Time            `json:"finishedAt,omitzero"`
	WaitingOn            string          `json:"waitingOn,omitempty"`
	FinalOutput          json.RawMessage `json:"finalOutput,omitempty"`
	Error                string          `json:"error,omitempty"`
	// ErrorCode is the stable code that goes with Error. It is ours; readers of
	// the format pass over it.
	ErrorCode string `json:"errorCode,omitempty"`

	// attempt is what the format keeps of the running attempt in the trace only.
	attempt attempt
}

// attempt is the part of a started attempt that its step needs at its end.
type attempt struct {
	nodeType string
	prompt   json.RawMessage
}

// Result is the record of a node's latest attempt.
type Result struct {
	AttemptID  string  `json:"attemptId"`
	NodeID     string  `json:"nodeId"`
	NodeType   string  `json:"nodeType"`
	Outcome    Outcome `json:"outcome"`
	StartedAt  Time    `json:"startedAt"`
	FinishedAt Time    `json:"finishedAt"`
	// DurationMs is the difference of the two times in milliseconds.
	DurationMs int64 `json:"durationMs"`
	// Output is absent unless the outcome is ok.
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Step is one finished attempt.
type Step struct {
	AttemptID  string  `json:"attemptId"`
	NodeID     string  `json:"nodeId"`
	NodeType   string  `json:"nodeType"`
	Outcome    Outcome `json:"outcome"`
	StartedAt  Time    `json:"startedAt"`
	FinishedAt Time    `json:"finishedAt"`
	// Prompt is the JSON text of the prompt of an agent, nil (null on disk) for
	// all else and before the prompt was built.
	Prompt json.RawMessage `json:"prompt"`
	// Output is nil (null on disk) unless the outcome is ok.
	Output json.RawMessage `json:"output"`
	Error  string          `json:"error,omitempty"`
	// ErrorCode is the stable code that goes with Error; it is ours, as that of
	// State is.
	ErrorCode    string        `json:"errorCode,omitempty"`
	Action       *Receipt      `json:"action,omitempty"`
	Conversation *Conversation `json:"conversation,omitempty"`
}

// The kinds of an action receipt.
const (
	ActionShell    = "shell"
	ActionFunction = "function"
)

// Receipt says what an action did. A function action has the type alone.
type Receipt struct {
	ActionType string `json:"actionType"`
	*CommandReceipt
}

// CommandReceipt is the part of a receipt that a command adds.
type CommandReceipt struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitzero"`
	Dir     string   `json:"cwd"`
	// ExitCode is nil if the command did not run, or was ended by a signal.
	ExitCode   *int    `json:"exitCode"`
	Signal     *string `json:"signal"`
	DurationMs int64   `json:"durationMs"`
}

// Conversation is the range of session entries in which an agent worked, both
// ends included.
type Conversation struct {
	FirstEntryID string `json:"firstEntryId"`
	LastEntryID  string `json:"lastEntryId"`
}

// Update is the latest update of one type and key.
type Update struct {
	UpdateID  string          `json:"updateId"`
	Seq       int64           `json:"seq"`
	At        Time            `json:"at"`
	RunID     string          `json:"runId"`
	NodeID    string          `json:"nodeId"`
	AttemptID string          `json:"attemptId"`
	Type      string          `json:"type"`
	Key       string          `json:"key"`
	Data      json.RawMessage `json:"data"`
}
