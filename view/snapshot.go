package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/workflow"
)

// ReadGraph reads the content of a workflow.json. It keeps the order of nodes
// and cases, which is the order of the drawing. An error is a *SnapshotError.
func ReadGraph(snapshot json.RawMessage) (*Graph, error) {
	var s struct {
		Schema  string         `json:"schema"`
		Name    string         `json:"name"`
		StartAt string         `json:"startAt"`
		Nodes   object         `json:"nodes"`
		Edges   []snapshotEdge `json:"edges"`

		Composition struct {
			Mounts []snapshotMount `json:"mounts"`
		} `json:"composition"`
	}
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return nil, &SnapshotError{err.Error()}
	}
	if s.Schema != workflow.SnapshotSchema {
		return nil, &SnapshotError{fmt.Sprintf("its schema is %.80q, not %q", s.Schema, workflow.SnapshotSchema)}
	}
	g := &Graph{Name: s.Name, StartAt: s.StartAt}
	if err := g.readNodes(s.Nodes); err != nil {
		return nil, err
	}
	for _, e := range s.Edges {
		if err := g.readEdge(e); err != nil {
			return nil, err
		}
	}
	for _, m := range s.Composition.Mounts {
		g.Groups = append(g.Groups, Group{Path: strings.Join(m.MountPath, "/"), Workflow: m.WorkflowName})
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	if !g.grouped() {
		g.ungroup()
	}
	return g, nil
}

type snapshotMount struct {
	MountPath    []string `json:"mountPath"`
	WorkflowName string   `json:"workflowName"`
}

// roles are the values of includeTransition.
var roles = map[string]Role{"entry": Entry, "exit": Exit}

type snapshotEdge struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Switch *struct {
		On    string `json:"on"`
		Cases object `json:"cases"`
	} `json:"switch"`
}

func (g *Graph) readNodes(nodes object) error {
	for _, m := range nodes {
		var n struct {
			NodeType        string `json:"nodeType"`
			ActionExecution string `json:"actionExecution"`

			MountPath         []string `json:"mountPath"`
			LocalNodeID       string   `json:"localNodeId"`
			IncludeTransition string   `json:"includeTransition"`
		}
		if err := json.Unmarshal(m.value, &n); err != nil {
			return &SnapshotError{fmt.Sprintf("node %.80q: %v", m.key, err)}
		}
		kind := n.NodeType
		if n.ActionExecution == "shell" {
			kind = n.ActionExecution
		}
		g.Nodes = append(g.Nodes, Node{
			ID: m.key, Kind: kind, Group: strings.Join(n.MountPath, "/"), Local: n.LocalNodeID,
			Role: roles[n.IncludeTransition],
		})
	}
	return nil
}

func (g *Graph) readEdge(e snapshotEdge) error {
	if e.Switch == nil {
		g.Edges = append(g.Edges, Edge{From: e.From, To: e.To})
		return nil
	}
	for _, m := range e.Switch.Cases {
		var to string
		if err := json.Unmarshal(m.value, &to); err != nil {
			return &SnapshotError{fmt.Sprintf("case %.80q of %.80q: %v", m.key, e.From, err)}
		}
		g.Edges = append(g.Edges, Edge{From: e.From, To: to, Label: m.key, On: e.Switch.On})
	}
	return nil
}

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// UnmarshalJSON reads the members in their order.
func (o *object) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("expected an object, found %.20q", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("read a name: %w", err)
		}
		m := member{key: fmt.Sprint(key)}
		if err := d.Decode(&m.value); err != nil {
			return fmt.Errorf("read %.80q: %w", m.key, err)
		}
		*o = append(*o, m)
	}
	return nil
}
