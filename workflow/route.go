package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrUnrouted says that no edge follows an attempt that was not ok: the run
// ends with that outcome and the error of the attempt.
var ErrUnrouted = errors.New("no edge follows this outcome")

// RouteError says that a switch could not choose; the run fails with it, even
// if the attempt was ok.
type RouteError struct {
	// Node is the node whose edge was asked, On the path that its switch reads.
	Node, On string
	// Value is the JSON text that the path led to; nil if there was none.
	Value json.RawMessage
	// Reason says why the value chooses nothing.
	Reason string
}

// Error names the node, the path, the value (shortened) and the reason.
func (e *RouteError) Error() string {
	found := "nothing"
	if e.Value != nil {
		found = shorten(string(e.Value))
	}
	return fmt.Sprintf("node %q: %s leads to %s: %s", e.Node, e.On, found, e.Reason)
}

// ErrorCode is the stable code of a switch that could not choose.
func (*RouteError) ErrorCode() string { return "route_failed" }

// Route returns the node that follows an attempt, or done if the graph ends
// with it. After an ok attempt the node's one edge is taken. After one that
// failed or timed out only a `$result.` switch is asked; without one, after a
// cancelled attempt, and where a mount could not be entered or left, the error is
// ErrUnrouted: a parent catches nothing of its child. A value that chooses nothing
// gives a *RouteError.
//
// Spec: control loops, Branch behavior and Included workflows.
func (g *Graph) Route(r Result) (next string, done bool, err error) {
	if _, known := g.byID[r.NodeID]; !known {
		return "", false, fmt.Errorf("workflow %q has no node %q: the result belongs to another graph", g.def.Name, r.NodeID)
	}
	e, exists := g.from[r.NodeID]
	switch {
	case r.Outcome != OK && (!e.followsFailure(r.Outcome) || g.sites[r.NodeID].crosses()):
		return "", false, fmt.Errorf("node %q ended %s: %w", r.NodeID, r.Outcome, ErrUnrouted)
	case !exists:
		return "", true, nil
	case e.Switch == nil:
		return e.To, false, nil
	default:
		next, err = e.Switch.choose(r)
		return next, false, err
	}
}

// followsFailure reports whether the edge is asked after an outcome that is not
// ok. Cancellation ends a run at once, whatever its cases say.
func (e Edge) followsFailure(o Outcome) bool {
	if e.Switch == nil || o != Failed && o != TimedOut {
		return false
	}
	from, _ := splitPath(e.Switch.On)
	return from == fromResult
}

func (s *Switch) choose(r Result) (string, error) {
	value := s.read(r)
	text, ok := scalar(value)
	if !ok {
		return "", &RouteError{r.NodeID, s.On, value, "a switch chooses by a string, a number or a boolean"}
	}
	for _, c := range s.Cases {
		if c.Value == text {
			return c.To, nil
		}
	}
	return "", &RouteError{r.NodeID, s.On, value, "no case names it, add one or answer with one of " + s.values()}
}

// values lists the cases for a message.
func (s *Switch) values() string {
	quoted := make([]string, len(s.Cases))
	for i, c := range s.Cases {
		quoted[i] = fmt.Sprintf("%q", c.Value)
	}
	return shorten(strings.Join(quoted, ", "))
}

// shorten cuts a text that would drown the message around it.
func shorten(s string) string {
	const limit = 500
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
