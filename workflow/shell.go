package workflow

import (
	"context"
	"time"
)

// Shell runs a command in its own process group.
type Shell struct {
	// ID is required.
	ID string
	Limits
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Exec returns the command; required.
	Exec func(ctx context.Context, c *Context) (Command, error)
	// Parse turns the result into the node's output; nil records the result
	// itself (CommandResult).
	Parse func(ctx context.Context, c *Context, r CommandResult) (any, error)
	// Updates optionally turns lines of the output into updates while the command
	// runs.
	Updates *LineUpdates
}

// NodeID returns ID.
func (n Shell) NodeID() string { return n.ID }

// Type returns TypeAction.
func (Shell) Type() NodeType { return TypeAction }

// Detail returns StatusDetail.
func (n Shell) Detail() string { return n.StatusDetail }

func (n Shell) shape(p *problems, place string) {
	p.require(n.Exec != nil, place+".exec", "the function Exec")
	if n.Updates != nil {
		n.Updates.shape(p, place+".updates")
	}
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
