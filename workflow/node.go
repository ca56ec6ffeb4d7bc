package workflow

import (
	"context"
	"time"
)

// Node is one step: one of Agent, Compute, Action, Shell, Notify, Checkpoint,
// as a value and not as a pointer. No other type passes the checks.
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
	// Timeout is the fixed deadline: zero takes DefaultTimeout, NoTimeout has
	// none. The record holds it in milliseconds, rounded up.
	Timeout time.Duration
	// TimeoutFunc, if set, is asked before each attempt instead of Timeout, and
	// answers with the same meaning.
	TimeoutFunc func(ctx context.Context, c *Context) (time.Duration, error)
}

// Deadline returns the limits themselves; nodes inherit it by embedding.
func (l Limits) Deadline() Limits { return l }

// check reports a deadline that means nothing.
func (l Limits) check(p *problems, place string) {
	if l.Timeout < 0 && l.Timeout != NoTimeout {
		p.addf(place+".timeout", "%v is negative: give a positive time, zero for the default, or NoTimeout", l.Timeout)
	}
}
