package engine

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// AgentExecutor delivers agent steps: to a model, a person, or a script. It is
// safe for concurrent use.
type AgentExecutor interface {
	// Execute delivers the request and returns once a submission was accepted
	// through r.Accept, or the step cannot be done, or ctx ended. What it
	// started for the step has ended when it returns. The range of the
	// conversation may be nil.
	Execute(ctx context.Context, r AgentRequest) (*runbundle.Conversation, error)
}

// Admitter is an AgentExecutor that lets attempts wait, as a bound on their number
// does. An engine asks before each attempt of an agent node.
type Admitter interface {
	// Admit returns nil once the attempt may begin: its deadline, its prompt and the
	// active time of a decision come after that. An error ends the attempt as failed.
	// It returns when ctx ends. What it says is for those who look on.
	Admit(ctx context.Context, c AgentContract, say io.Writer) error
}

// AgentContract identifies a step towards an agent.
type AgentContract struct {
	RunID, WorkflowName, NodeID, AttemptID string
	// ExpectedOutput describes the answer; empty means any JSON object.
	ExpectedOutput string
}

// AgentRequest is one agent step.
type AgentRequest struct {
	Contract AgentContract
	// Prompt is the full text: the author's part and the step contract.
	Prompt string
	// RunTitle and StatusDetail are for display; either may be empty.
	RunTitle, StatusDetail string
	// Accept checks a submission, which is a JSON text: agents that answer in
	// prose hand in a JSON string, and the JSON value that stands in it is taken.
	// Nil means that the step is complete. A *SubmissionError is for the agent,
	// which may correct its answer and submit again within the same attempt. Any
	// other error says that nothing more will be taken: ErrStepOver after the
	// first acceptance and after the end of the attempt, a *DecisionBlockedError
	// when the limit of a decision is used up. It is safe for concurrent use.
	Accept func(ctx context.Context, submission json.RawMessage) error
	// Publish records an update of the attempt, which does not complete it. The
	// key is optional and identifies one call of the agent: a repeated call with
	// the key of an update that was recorded in this attempt returns the receipt
	// of that one and records nothing. Any error is for the agent; see
	// workflow.Context.Publish. After the end of the attempt every update is
	// refused. It is safe for concurrent use.
	Publish func(ctx context.Context, u workflow.Update, key string) (workflow.UpdateReceipt, error)
	// Output takes what the agent says while it works, for those who look on. It
	// never fails and keeps what the agent writes for as long as the run goes on.
	Output io.Writer
	// Hold stops the active time of a decision, because a person interrupted the
	// agent, until release is called. Holds may overlap; a second call of one
	// release does nothing. The deadline of the node goes on. It is never nil in
	// a request of the engine, and safe for concurrent use.
	Hold func() (release func())
}

// betweenParts separates the author's part of a prompt from the contract.
const betweenParts = "\n\n"

// Authored returns the author's part of the prompt, for those who do not call
// tools.
func (r AgentRequest) Authored() string {
	return strings.TrimSuffix(r.Prompt, betweenParts+r.Contract.Text())
}
