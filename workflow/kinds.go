package workflow

import (
	"context"
	"encoding/json"
)

// Func is the callback of a compute node or a function action. What it returns
// becomes the node's output: a json.RawMessage as it is, any other value
// through encoding/json; nil becomes null.
type Func func(ctx context.Context, c *Context) (any, error)

// Compute runs a function in the process: pure work, guards and routing.
type Compute struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Run is required.
	Run Func
}

// NodeID returns ID.
func (n Compute) NodeID() string { return n.ID }

// Type returns TypeCompute.
func (Compute) Type() NodeType { return TypeCompute }

// Detail returns StatusDetail.
func (n Compute) Detail() string { return n.StatusDetail }

func (n Compute) shape(p *problems, place string) {
	p.require(n.Run != nil, place+".run", "the function Run")
}

// Action runs a function that has effects outside the run. It differs from
// Compute in its receipt and in the sync of the record before it starts.
type Action struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Run is required.
	Run Func
}

// NodeID returns ID.
func (n Action) NodeID() string { return n.ID }

// Type returns TypeAction.
func (Action) Type() NodeType { return TypeAction }

// Detail returns StatusDetail.
func (n Action) Detail() string { return n.StatusDetail }

func (n Action) shape(p *problems, place string) {
	p.require(n.Run != nil, place+".run", "the function Run")
}

// Agent asks an agent executor for a result.
type Agent struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Prompt returns the author's part of the prompt; required. The engine adds
	// the step contract.
	Prompt func(ctx context.Context, c *Context) (string, error)
	// ExpectedOutput describes the answer to the model; empty means any object.
	ExpectedOutput string
	// Validate checks and normalises a submission; an error goes back to the
	// agent within the same attempt. Nil accepts every JSON value.
	Validate func(ctx context.Context, c *Context, output json.RawMessage) (json.RawMessage, error)

	// limit is set for a decision; it never changes.
	limit *DecisionLimit
	// flaws is what the helper that built the node found wrong with its own
	// fields; it is reported with the rest of the definition.
	flaws []Problem
}

// NodeID returns ID.
func (n Agent) NodeID() string { return n.ID }

// Type returns TypeAgent.
func (Agent) Type() NodeType { return TypeAgent }

// Detail returns StatusDetail.
func (n Agent) Detail() string { return n.StatusDetail }

func (n Agent) shape(p *problems, place string) {
	p.require(n.Prompt != nil, place+".prompt", "the function Prompt")
	p.text(place+".expectedOutput", n.ExpectedOutput)
	for _, flaw := range n.flaws {
		p.addf(place+"."+flaw.Place, "%s", flaw.Message)
	}
}

// The kinds of a notification.
const (
	NotifyProgress = "progress"
	NotifyFinal    = "final"
)

// Notify sends one message through the host's notification sink.
type Notify struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Message is required; it must not be blank and holds at most 65,536
	// characters.
	Message func(ctx context.Context, c *Context) (string, error)
	// Kind is NotifyProgress (also if empty) or NotifyFinal.
	Kind string
}

// NodeID returns ID.
func (n Notify) NodeID() string { return n.ID }

// Type returns TypeNotify.
func (Notify) Type() NodeType { return TypeNotify }

// Detail returns StatusDetail.
func (n Notify) Detail() string { return n.StatusDetail }

func (n Notify) shape(p *problems, place string) {
	p.require(n.Message != nil, place+".message", "the function Message")
	if k := n.kind(); k != NotifyProgress && k != NotifyFinal {
		p.addf(place+".kind", "%q is neither %q nor %q", k, NotifyProgress, NotifyFinal)
	}
}

func (n Notify) kind() string {
	if n.Kind == "" {
		return NotifyProgress
	}
	return n.Kind
}

// Checkpoint ends the run as waiting; an answer starts its continuation.
type Checkpoint struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Summary is shown to whoever answers; "checkpoint" if empty.
	Summary string
	// Run optionally computes the output, which is then the final output.
	Run Func
}

// NodeID returns ID.
func (n Checkpoint) NodeID() string { return n.ID }

// Type returns TypeCheckpoint.
func (Checkpoint) Type() NodeType { return TypeCheckpoint }

// Detail returns StatusDetail.
func (n Checkpoint) Detail() string { return n.StatusDetail }

func (n Checkpoint) shape(p *problems, place string) {
	p.text(place+".summary", n.Summary)
}
