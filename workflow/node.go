package workflow

import (
	"context"
	"encoding/json"
	"time"
)

// Func is the callback of a compute node or a function action. What it returns
// becomes the node's output: a json.RawMessage as it is, any other value
// through encoding/json; nil becomes null.
type Func func(ctx context.Context, c *Context) (any, error)

// Compute runs a function in the process: pure work, guards and routing.
type Compute struct {
	ID string
	Limits
	StatusDetail string
	// Run is required.
	Run Func
}

// Action runs a function that has effects outside the run. It differs from
// Compute in its receipt and in the sync of the record before it starts.
type Action struct {
	ID string
	Limits
	StatusDetail string
	// Run is required.
	Run Func
}

// Agent asks an agent executor for a result.
type Agent struct {
	ID string
	Limits
	StatusDetail string
	// Prompt returns the author's part of the prompt; required. The engine adds
	// the step contract.
	Prompt func(ctx context.Context, c *Context) (string, error)
	// ExpectedOutput describes the answer to the model; empty means any object.
	ExpectedOutput string
	// Validate checks and normalises a submission; an error goes back to the
	// agent within the same attempt. Nil accepts every JSON value.
	Validate func(ctx context.Context, c *Context, output json.RawMessage) (json.RawMessage, error)
}

// Shell runs a command in its own process group.
type Shell struct {
	ID string
	Limits
	StatusDetail string
	// Exec returns the command; required.
	Exec func(ctx context.Context, c *Context) (Command, error)
	// Parse turns the result into the node's output; nil records the result
	// itself (CommandResult).
	Parse func(ctx context.Context, c *Context, r CommandResult) (any, error)
}

// Command is what a shell action runs.
type Command struct {
	// Command is the program (looked up on PATH), or the script if Shell is set.
	Command string
	Args    []string
	// Dir is the working directory; empty is the engine's.
	Dir string
	// Env is laid over the inherited environment; a nil value removes a name.
	Env map[string]*string
	// Stdin is written to the command and closed.
	Stdin string
	// Shell runs Command through this shell with -c; empty runs it directly.
	Shell string
	// AllowFailure makes a non-zero exit or a death by signal an ok result.
	AllowFailure bool
	// Timeout bounds the command within the node's deadline; zero is none.
	Timeout time.Duration
	// MaxOutput caps each stream, in characters; zero is 1,000,000.
	MaxOutput int
}

// CommandResult is what a command did; its JSON is the output of a shell node
// without Parse.
type CommandResult struct {
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	Dir        string   `json:"cwd"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	ExitCode   *int     `json:"exitCode"`
	Signal     *string  `json:"signal"`
	DurationMs int64    `json:"durationMs"`
	// Truncated says that a stream went over its cap.
	Truncated bool `json:"truncated,omitempty"`
}

// Notify sends one message through the host's notification sink.
type Notify struct {
	ID string
	Limits
	StatusDetail string
	// Message is required; it must not be blank and holds at most 65,536
	// characters.
	Message func(ctx context.Context, c *Context) (string, error)
	// Kind is "progress" (also if empty) or "final".
	Kind string
}

// Checkpoint ends the run as waiting; an answer starts its continuation.
type Checkpoint struct {
	ID string
	Limits
	StatusDetail string
	// Summary is shown to whoever answers; "checkpoint" if empty.
	Summary string
	// Run optionally computes the output, which is then the final output.
	Run Func
}

// NodeID returns ID.
func (n Compute) NodeID() string { return n.ID }

// NodeID returns ID.
func (n Action) NodeID() string { return n.ID }

// NodeID returns ID.
func (n Agent) NodeID() string { return n.ID }

// NodeID returns ID.
func (n Shell) NodeID() string { return n.ID }

// NodeID returns ID.
func (n Notify) NodeID() string { return n.ID }

// NodeID returns ID.
func (n Checkpoint) NodeID() string { return n.ID }

// Type returns TypeCompute.
func (Compute) Type() NodeType { return TypeCompute }

// Type returns TypeAction.
func (Action) Type() NodeType { return TypeAction }

// Type returns TypeAgent.
func (Agent) Type() NodeType { return TypeAgent }

// Type returns TypeAction.
func (Shell) Type() NodeType { return TypeAction }

// Type returns TypeNotify.
func (Notify) Type() NodeType { return TypeNotify }

// Type returns TypeCheckpoint.
func (Checkpoint) Type() NodeType { return TypeCheckpoint }

// Detail returns StatusDetail.
func (n Compute) Detail() string { return n.StatusDetail }

// Detail returns StatusDetail.
func (n Action) Detail() string { return n.StatusDetail }

// Detail returns StatusDetail.
func (n Agent) Detail() string { return n.StatusDetail }

// Detail returns StatusDetail.
func (n Shell) Detail() string { return n.StatusDetail }

// Detail returns StatusDetail.
func (n Notify) Detail() string { return n.StatusDetail }

// Detail returns StatusDetail.
func (n Checkpoint) Detail() string { return n.StatusDetail }

func (n Compute) shape(p *problems, place string) {}

func (n Action) shape(p *problems, place string) {}

func (n Agent) shape(p *problems, place string) {}

func (n Shell) shape(p *problems, place string) {}

func (n Notify) shape(p *problems, place string) {}

func (n Checkpoint) shape(p *problems, place string) {}
