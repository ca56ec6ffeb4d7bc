// Package view draws graphs and recorded runs as text. It reads records and
// changes nothing. Whatever it prints from a record is free of control
// characters, so that no record can command a terminal.
//
// Spec: control loops, Visualization.
package view

import (
	"fmt"
	"strings"

	"piworkflows/workflow"
)

// Graph is the shape of a workflow as its snapshot records it, with one edge
// for each case of a switch.
type Graph struct {
	// Name is the name of the workflow.
	Name string
	// StartAt is the ID of the first node.
	StartAt string
	// Nodes and Edges are in the order of the definition. Every edge leads from
	// one of the nodes to one of them.
	Nodes []Node
	Edges []Edge
}

// Node is one step of a graph.
type Node struct {
	ID string
	// Kind is the node type as it is recorded, but "shell" for a shell action.
	Kind string
}

// Edge is one way from a node to the next.
type Edge struct {
	From, To string
	// Label is the value of the case; On is the path that the switch reads. Both
	// are empty for a plain edge.
	Label, On string
}

// Decides reports whether the edge belongs to a switch.
func (e Edge) Decides() bool { return e.On != "" || e.Label != "" }

// chosen reports whether a value that a node answered selects the edge, and not
// how its attempt ended.
func (e Edge) chosen() bool { return e.Decides() && !strings.HasPrefix(e.On, "$result.") }

// GraphOf returns the drawable form of a compiled workflow.
func GraphOf(g *workflow.Graph) (*Graph, error) { return ReadGraph(g.Snapshot()) }

// SnapshotError says why a recorded graph cannot be drawn.
type SnapshotError struct {
	// Reason names the place and what is wrong with it.
	Reason string
}

func (e *SnapshotError) Error() string {
	return "the recorded graph cannot be drawn: " + e.Reason + "; the run itself can still be read as JSON with -o json"
}

// ErrorCode is the stable code of a graph that cannot be drawn.
func (*SnapshotError) ErrorCode() string { return "invalid_snapshot" }

// wiring answers questions about a graph by position instead of by name.
type wiring struct {
	*Graph
	index map[string]int
	// out and in hold the indexes of the edges that leave and reach a node.
	out, in [][]int
}

func newWiring(g *Graph) *wiring {
	w := &wiring{
		Graph: g, index: make(map[string]int, len(g.Nodes)),
		out: make([][]int, len(g.Nodes)), in: make([][]int, len(g.Nodes)),
	}
	for i, n := range g.Nodes {
		w.index[n.ID] = i
	}
	for i := range g.Edges {
		w.out[w.from(i)] = append(w.out[w.from(i)], i)
		w.in[w.to(i)] = append(w.in[w.to(i)], i)
	}
	return w
}

func (w *wiring) from(edge int) int { return w.index[w.Edges[edge].From] }

func (w *wiring) to(edge int) int { return w.index[w.Edges[edge].To] }

// check reports the first name that leads nowhere.
func (g *Graph) check() error {
	known := make(map[string]bool, len(g.Nodes))
	for _, n := range g.Nodes {
		known[n.ID] = true
	}
	if !known[g.StartAt] {
		return &SnapshotError{fmt.Sprintf("startAt names %.80q, which is no node", g.StartAt)}
	}
	for _, e := range g.Edges {
		if !known[e.From] || !known[e.To] {
			return &SnapshotError{fmt.Sprintf("an edge leads from %.80q to %.80q, and one of them is no node", e.From, e.To)}
		}
	}
	return nil
}
