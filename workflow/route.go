package workflow

import (
	"encoding/json"
	"errors"
)

// ErrUnrouted says that no edge follows an attempt that was not ok.
var ErrUnrouted = errors.New("no edge follows this outcome")

// RouteError says that a switch could not choose.
type RouteError struct {
	// Node is the node whose switch was asked, On the path that it reads.
	Node, On string
	// Value is what the path led to; nil if there was nothing.
	Value json.RawMessage
	// Reason says why it chooses nothing.
	Reason string
}

func (e *RouteError) Error() string { return e.Reason }

// ErrorCode is the stable code of a switch that could not choose.
func (*RouteError) ErrorCode() string { return "route_failed" }

// Route returns the node that follows an attempt, or done if none does.
func (g *Graph) Route(r Result) (next string, done bool, err error) { return "", false, errStub }
