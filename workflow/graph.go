package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"piworkflows/internal/limit"
)

// Graph is a definition that passed every check. It never changes and shares
// nothing with the definition that it was compiled from, so any number of
// goroutines may use it.
type Graph struct {
	def Definition
	// flattening is the definition with everything that it includes.
	*flattening
	byID   map[string]Node
	from   map[string]Edge
	text   json.RawMessage
	digest string
}

// Source is how records name the origin of a definition.
type Source struct {
	// Kind is "builtin" for every definition that is written in Go.
	Kind string `json:"kind"`
	// ID is the name of the workflow.
	ID string `json:"id"`
	// Revision is the author's revision of it.
	Revision string `json:"revision"`
}

// Compile checks a definition with everything that it includes, and returns its
// graph, in which a node of an included workflow has the ID mount/node. Everything
// that is wrong is reported at once, in one *InvalidError: the shape of each part
// (see Check), names that lead nowhere, a second edge from one node, nodes that no
// path reaches, exits that lead nowhere, workflows that include themselves. Cycles
// of edges are legal; MaxSteps ends them. A snapshot of more than
// MaxSnapshotBytes is refused with an error of code limit_exceeded.
func Compile(d *Definition) (*Graph, error) {
	if d == nil {
		return nil, d.Check()
	}
	c := compilation{left: MaxNodes}
	c.check(d, nil)
	if err := c.err(d.Name); err != nil {
		return nil, err
	}
	return build(d.clone())
}

// build makes the graph of a definition that is known to be valid.
func build(d *Definition) (*Graph, error) {
	f := flatten(d)
	g := &Graph{
		def: *d, flattening: f,
		byID: make(map[string]Node, len(f.nodes)), from: make(map[string]Edge, len(f.edges)),
	}
	for _, n := range f.nodes {
		g.byID[n.NodeID()] = n
	}
	for _, e := range f.edges {
		g.from[e.From] = e
	}
	text, err := g.snapshot()
	if err != nil {
		return nil, fmt.Errorf("write the snapshot of workflow %q: %w", d.Name, err)
	}
	if err := limit.Bytes("snapshot of workflow "+d.Name, text, MaxSnapshotBytes); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	g.text, g.digest = text, "sha256:"+hex.EncodeToString(sum[:])
	return g, nil
}

// Definition returns a copy of the definition as its author wrote it.
func (g *Graph) Definition() *Definition { return g.def.clone() }

// Name returns the name of the workflow.
func (g *Graph) Name() string { return g.def.Name }

// Revision returns the author's revision.
func (g *Graph) Revision() string { return g.def.Revision }

// StartAt returns the ID of the first node.
func (g *Graph) StartAt() string { return g.def.StartAt }

// Node returns a node by its ID.
func (g *Graph) Node(id string) (Node, bool) {
	n, ok := g.byID[id]
	return n, ok
}

// Nodes returns the nodes in the order of the definition, those of included
// workflows after those of the workflow that includes them.
func (g *Graph) Nodes() []Node { return slices.Clone(g.nodes) }

// EdgeFrom returns the one edge that leaves a node, if there is one.
func (g *Graph) EdgeFrom(id string) (Edge, bool) {
	e, ok := g.from[id]
	return e.clone(), ok
}

// Edges returns the edges in the order of the definition, those of included
// workflows before those of the workflow that includes them.
func (g *Graph) Edges() []Edge { return cloneEdges(g.edges) }

// MaxSteps returns how many attempts one run may have.
func (g *Graph) MaxSteps() int {
	if g.def.MaxSteps == 0 {
		return DefaultMaxSteps
	}
	return g.def.MaxSteps
}

// Snapshot returns the shape of the graph as it is recorded in workflow.json,
// as compact JSON text that keeps the order of nodes, edges and cases.
func (g *Graph) Snapshot() json.RawMessage { return slices.Clone(g.text) }

// Digest returns "sha256:" and the hex SHA-256 of the snapshot. It changes with
// every change of the shape; Revision stands for what callbacks do.
func (g *Graph) Digest() string { return g.digest }

// Source returns how records name the definition.
func (g *Graph) Source() Source { return g.def.source() }

func cloneEdges(edges []Edge) []Edge {
	c := slices.Clone(edges)
	for i, e := range c {
		c[i] = e.clone()
	}
	return c
}

func (e Edge) clone() Edge {
	if e.Switch != nil {
		e.Switch = &Switch{On: e.Switch.On, Cases: slices.Clone(e.Switch.Cases)}
	}
	return e
}
