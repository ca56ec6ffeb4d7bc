// Package workflow describes finite graphs as values: nodes, edges, decisions
// and control loops, with the checks that a graph must pass before it runs. It
// runs nothing; room engine does.
//
// Spec: control loops; reference: workflow engine, sections 2 to 8.
package workflow

import (
	"context"
	"encoding/json"
	"time"
)

// Definition is one authored workflow. It is a plain value: build it, hand it
// to Compile, and do not change it afterwards.
type Definition struct {
	// Name identifies the workflow to people and in records. It is required and
	// must not be a command word (answer, cancel, list, pause, resume, status).
	Name string
	// Revision is raised by the author whenever a callback changes its meaning;
	// a recorded run goes on only under the revision it began with. Required.
	Revision string
	// ContractID optionally names what the workflow accepts and returns.
	ContractID string
	// Input normalises and checks the run input before anything is written; nil
	// accepts any JSON value. An error refuses the run.
	Input func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
	// Title optionally gives a run its title, from its normalised input.
	Title func(ctx context.Context, input json.RawMessage) (string, error)
	// StartAt is the ID of the first node. Required.
	StartAt string
	// Nodes are the steps, in the order in which they are shown and recorded.
	Nodes []Node
	// Edges connect them; a node has at most one outgoing edge.
	Edges []Edge
	// MaxSteps bounds the attempts of one run; zero takes the engine's default.
	MaxSteps int
}

// Node is one step: one of Agent, Compute, Action, Shell, Notify, Checkpoint.
type Node interface {
	// NodeID returns the ID that edges and records use.
	NodeID() string
	// Type returns the node type as it is recorded.
	Type() NodeType
	// Deadline returns the limits of one attempt.
	Deadline() Limits
	// Detail returns the text shown while an attempt runs; it may be empty.
	Detail() string

	// shape reports what is wrong with the node by itself.
	shape(p *problems, place string)
}

// NodeType is one of the five types of the record format.
type NodeType string

// The node types. A function and a shell action share one type.
const (
	TypeAgent      NodeType = "agent"
	TypeCompute    NodeType = "compute"
	TypeNotify     NodeType = "notify"
	TypeAction     NodeType = "action"
	TypeCheckpoint NodeType = "checkpoint"
)

// NoTimeout switches the deadline of a node off.
const NoTimeout time.Duration = -1

// Limits is the deadline of one attempt.
type Limits struct {
	// Timeout is the fixed deadline: zero takes the engine's default (15
	// minutes), NoTimeout has none. It has millisecond resolution on disk.
	Timeout time.Duration
	// TimeoutFunc, if set, is asked before each attempt instead, and answers
	// with the same meaning.
	TimeoutFunc func(ctx context.Context, c *Context) (time.Duration, error)
}

// Deadline returns the limits themselves; nodes inherit it by embedding.
func (l Limits) Deadline() Limits { return l }

// Edge leads from one node to the next. Exactly one of To and Switch is set.
type Edge struct {
	// From is a node ID.
	From string
	// To is the next node of a plain edge, taken after an ok attempt only.
	To string
	// Switch chooses the next node by a value.
	Switch *Switch
}

// Switch chooses by a scalar that On reads: `$.path` and `$output.path` from
// the node's output, `$result.path` from its result record. Only a `$result.`
// switch is asked after an attempt that failed or timed out; a cancelled run is
// never routed.
type Switch struct {
	On    string
	Cases []Case
}

// Case names the node that follows when the value, written as text, equals
// Value. Order is kept: it is the order of branches in drawings.
type Case struct {
	Value string
	To    string
}
