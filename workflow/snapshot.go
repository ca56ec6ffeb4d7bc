package workflow

import (
	"encoding/json"
	"strconv"
	"time"

	"piworkflows/internal/canonical"
)

// SnapshotSchema identifies the format of workflow.json.
const SnapshotSchema = "pi-workflows.definition-snapshot.v1"

// definitionSnapshot is the content of workflow.json. The order of its fields
// and of the members of its objects is part of the digest.
type definitionSnapshot struct {
	Schema      string         `json:"schema"`
	Name        string         `json:"name"`
	ContractID  string         `json:"contractId,omitempty"`
	StartAt     string         `json:"startAt"`
	Nodes       object         `json:"nodes"`
	Edges       []edgeSnapshot `json:"edges"`
	Composition composition    `json:"composition"`
}

// composition lists the mounts; readers expect the list also if it is empty.
type composition struct {
	Mounts []mountSnapshot `json:"mounts"`
}

type mountSnapshot struct {
	MountPath    []string `json:"mountPath"`
	WorkflowName string   `json:"workflowName"`
	EntryNode    string   `json:"entryNode"`
	Exits        object   `json:"exits"`
	MaxSteps     int      `json:"maxSteps,omitempty"`
}

type nodeSnapshot struct {
	NodeType NodeType `json:"nodeType"`
	// MountPath and LocalNodeID are set in included workflows.
	MountPath   []string `json:"mountPath,omitempty"`
	LocalNodeID string   `json:"localNodeId,omitempty"`
	// IncludeTransition is entry or exit for a node that composition made.
	IncludeTransition string `json:"includeTransition,omitempty"`
	// TimeoutMs is absent for the default and for a function, null for none.
	TimeoutMs       json.RawMessage `json:"timeoutMs,omitempty"`
	StatusDetail    string          `json:"statusDetail,omitempty"`
	ExpectedOutput  string          `json:"expectedOutput,omitempty"`
	Summary         string          `json:"summary,omitempty"`
	ActionExecution string          `json:"actionExecution,omitempty"`
}

type edgeSnapshot struct {
	From   string          `json:"from"`
	To     string          `json:"to,omitempty"`
	Switch *switchSnapshot `json:"switch,omitempty"`
}

type switchSnapshot struct {
	On    string `json:"on"`
	Cases object `json:"cases"`
}

func (g *Graph) snapshot() (json.RawMessage, error) {
	s := definitionSnapshot{
		Schema:      SnapshotSchema,
		Name:        g.def.Name,
		ContractID:  g.def.ContractID,
		StartAt:     g.def.StartAt,
		Edges:       make([]edgeSnapshot, 0, len(g.edges)),
		Composition: composition{Mounts: []mountSnapshot{}},
	}
	for _, n := range g.nodes {
		s.Nodes = append(s.Nodes, member{n.NodeID(), g.snapshotNode(n)})
	}
	for _, e := range g.edges {
		s.Edges = append(s.Edges, snapshotEdge(e))
	}
	for _, m := range g.mounted() {
		s.Composition.Mounts = append(s.Composition.Mounts, mountSnapshot{
			MountPath: m.path, WorkflowName: m.def.Name, EntryNode: m.mountID(), Exits: m.exits(), MaxSteps: m.def.MaxSteps,
		})
	}
	return canonical.Marshal(s)
}

// snapshotNode is a node with its place in the composition.
func (g *Graph) snapshotNode(n Node) nodeSnapshot {
	s := snapshotNode(n)
	at := g.sites[n.NodeID()]
	s.MountPath = g.scopes[at.scope].path
	switch {
	case at.enters > 0:
		s.MountPath, s.IncludeTransition = g.scopes[at.enters].path, "entry"
	case at.exit != "":
		s.IncludeTransition = "exit"
	}
	if len(s.MountPath) > 0 {
		s.LocalNodeID = at.local
	}
	return s
}

func snapshotNode(n Node) nodeSnapshot {
	s := nodeSnapshot{NodeType: n.Type(), TimeoutMs: timeoutMs(n.Deadline()), StatusDetail: n.Detail()}
	switch n := n.(type) {
	case Agent:
		s.ExpectedOutput = n.ExpectedOutput
	case Notify:
		s.Summary = n.kind()
	case Checkpoint:
		s.Summary = n.Summary
	case Action:
		s.ActionExecution = "function"
	case Shell:
		s.ActionExecution = "shell"
	}
	return s
}

func timeoutMs(l Limits) json.RawMessage {
	switch {
	case l.TimeoutFunc != nil || l.Timeout == 0:
		return nil
	case l.Timeout == NoTimeout:
		return json.RawMessage("null")
	default:
		rounded := (l.Timeout-1)/time.Millisecond + 1
		return json.RawMessage(strconv.FormatInt(int64(rounded), 10))
	}
}

func snapshotEdge(e Edge) edgeSnapshot {
	if e.Switch == nil {
		return edgeSnapshot{From: e.From, To: e.To}
	}
	cases := make(object, 0, len(e.Switch.Cases))
	for _, c := range e.Switch.Cases {
		cases = append(cases, member{c.Value, c.To})
	}
	return edgeSnapshot{From: e.From, Switch: &switchSnapshot{On: e.Switch.On, Cases: cases}}
}

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		key, err := canonical.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := canonical.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, key...), ':'), value...)
	}
	return append(text, '}'), nil
}
