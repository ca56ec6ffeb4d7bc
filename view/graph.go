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
	// Groups are the included workflows, in the order of the record. ReadGraph
	// keeps them only if they fit together; a graph made by hand must see to it.
	Groups []Group
}

// Node is one step of a graph.
type Node struct {
	ID string
	// Kind is the node type as it is recorded, but "shell" for a shell action.
	Kind string
	// Group is the path of the included workflow that has the node, empty for
	// the root. Local is what the node is called there, empty if that is its ID.
	Group, Local string
	// Role tells the borders of a group from its steps.
	Role Role
}

// StepName is the node in a list of steps: its ID, or which border of a group it
// is.
func (n Node) StepName() string {
	switch n.Role {
	case Entry:
		return "enter " + Plain(n.Group)
	case Exit:
		return Plain(n.Group + "." + n.local())
	default:
		return Plain(n.ID)
	}
}

// Role is the part that a node plays in its group.
type Role int

// The roles of nodes.
const (
	// Inner is an ordinary node.
	Inner Role = iota
	// Entry is the way into a group, Exit one of the ways out; its Local is the
	// name of the exit. The compiler of workflows makes them.
	Entry
	Exit
)

// Group is an included workflow within a graph. Reference: run bundles,
// section 5.
type Group struct {
	// Path is its mount path, joined with slashes.
	Path string
	// Workflow is the name of the included workflow.
	Workflow string
}

// name is what the author of the parent calls the group.
func (g Group) name() string { return g.Path[strings.LastIndexByte(g.Path, '/')+1:] }

// parent is the path of the group around it; empty for the root.
func (g Group) parent() string { return g.Path[:max(0, strings.LastIndexByte(g.Path, '/'))] }

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
