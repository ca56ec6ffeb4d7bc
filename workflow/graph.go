package workflow

import (
	"encoding/json"
	"errors"
)

var errStub = errors.New("not built yet")

// Source identifies where a definition comes from.
type Source struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Revision string `json:"revision"`
}

// Graph is a definition that passed every check. It never changes, so it may
// be used from several goroutines.
type Graph struct{ def *Definition }

// Check reports what is wrong with the shape of the definition.
func (d *Definition) Check() error { return errStub }

// Compile checks a definition.
func Compile(d *Definition) (*Graph, error) { return nil, errStub }

// Definition returns a copy of the definition.
func (g *Graph) Definition() *Definition { return g.def }

// Name returns the name of the workflow.
func (g *Graph) Name() string { return g.def.Name }

// Revision returns the revision of the workflow.
func (g *Graph) Revision() string { return g.def.Revision }

// StartAt returns the ID of the first node.
func (g *Graph) StartAt() string { return g.def.StartAt }

// Node returns a node by ID.
func (g *Graph) Node(id string) (Node, bool) { return nil, false }

// Nodes returns the nodes in order.
func (g *Graph) Nodes() []Node { return nil }

// EdgeFrom returns the edge that leaves a node.
func (g *Graph) EdgeFrom(id string) (Edge, bool) { return Edge{}, false }

// Edges returns the edges in order.
func (g *Graph) Edges() []Edge { return nil }

// MaxSteps returns the bound on attempts of one run.
func (g *Graph) MaxSteps() int { return DefaultMaxSteps }

// Snapshot returns the content of workflow.json, compact.
func (g *Graph) Snapshot() json.RawMessage { return nil }

// Digest returns "sha256:" and the hex SHA-256 of the snapshot.
func (g *Graph) Digest() string { return "" }

// Source returns how records name the definition.
func (g *Graph) Source() Source { return Source{} }
