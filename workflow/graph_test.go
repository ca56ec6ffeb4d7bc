package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

func TestCompileWiring(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		nodes []string
		edges []workflow.Edge
		want  []flaw
	}{
		"one node":  {[]string{"a"}, nil, nil},
		"self loop": {[]string{"a"}, []workflow.Edge{{From: "a", To: "a"}}, nil},
		"cycle":     {[]string{"a", "b"}, []workflow.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}}, nil},
		"join": {
			[]string{"a", "b", "c", "d"},
			[]workflow.Edge{choice("a", "$.x", "1", "b", "2", "c"), {From: "b", To: "d"}, {From: "c", To: "d"}},
			nil,
		},
		"unknown start": {[]string{"b"}, nil, []flaw{{"startAt", `no node "a"`}}},
		"unknown source": {
			[]string{"a"},
			[]workflow.Edge{{From: "x", To: "a"}},
			[]flaw{{"edges[0].from", `no node "x"`}},
		},
		"unknown target": {
			[]string{"a"},
			[]workflow.Edge{{From: "a", To: "x"}},
			[]flaw{{"edges[0].to", `no node "x"`}},
		},
		"unknown case": {
			[]string{"a"},
			[]workflow.Edge{choice("a", "$.x", "1", "a", "2", "toString")},
			[]flaw{{"edges[0].switch.cases.2", `no node "toString"`}},
		},
		"second edge": {
			[]string{"a", "b"},
			[]workflow.Edge{{From: "a", To: "b"}, {From: "a", To: "a"}},
			[]flaw{{"edges[1].from", "edges[0]"}},
		},
		"third edge": {
			[]string{"a"},
			[]workflow.Edge{{From: "a", To: "a"}, {From: "a", To: "a"}, {From: "a", To: "a"}},
			[]flaw{{"edges[1].from", "edges[0]"}, {"edges[2].from", "edges[0]"}},
		},
		"unreachable": {
			[]string{"a", "b", "c"},
			[]workflow.Edge{{From: "b", To: "c"}},
			[]flaw{{"nodes.b", `no path leads here from "a"`}, {"nodes.c", "no path"}},
		},
		"unreachable, declared twice": {
			[]string{"a", "b", "b"},
			nil,
			[]flaw{{"nodes[2].id", "nodes[1]"}, {"nodes.b", "no path"}},
		},
		"unreachable cycle": {
			[]string{"a", "b", "c"},
			[]workflow.Edge{{From: "b", To: "c"}, {From: "c", To: "b"}},
			[]flaw{{"nodes.b", "no path"}, {"nodes.c", "no path"}},
		},
		"exit of no mount": {
			[]string{"a"},
			[]workflow.Edge{{From: "child.done", To: "a"}},
			[]flaw{{"edges[0].from", `"child.done" is an exit`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Compile(&workflow.Definition{
				Name: "wiring", Revision: "1", StartAt: "a", Nodes: computes(test.nodes...), Edges: test.edges,
			})
			if test.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantFlaws(t, invalid(t, err).Problems, test.want)
		})
	}
}

func TestCompileReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := workflow.Compile(&workflow.Definition{
		Name:     "broken",
		Revision: "1",
		StartAt:  "observe",
		MaxSteps: -5,
		Nodes: []workflow.Node{
			workflow.Compute{ID: "observe", Run: run},
			workflow.Agent{ID: "decide"},
			compute("lost"),
		},
		Edges: []workflow.Edge{
			{From: "observe", To: "decide"},
			choice("decide", "$.route", "verify", "verfy", "again", "observe"),
			{From: "observe", To: "decide"},
		},
	})
	want := []flaw{
		{"maxSteps", ""},
		{"nodes.decide.prompt", ""},
		{"edges[1].switch.cases.verify", `"verfy"`},
		{"edges[2].from", ""},
		{"nodes.lost", ""},
	}
	got := invalid(t, err)
	wantFlaws(t, got.Problems, want)
	if got.ErrorCode() != "invalid_workflow" {
		t.Errorf("code = %q", got.ErrorCode())
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 6 || lines[0] != `invalid workflow "broken": mend 5 problems` {
		t.Fatalf("message:\n%s", err)
	}
	for i, f := range want {
		if !strings.HasPrefix(lines[i+1], "  "+f.place+": ") {
			t.Errorf("line %q does not begin with place %s", lines[i+1], f.place)
		}
	}
}

func TestGraphAnswers(t *testing.T) {
	t.Parallel()
	g := compile(t, chain("b", "a", "c"))
	if g.Name() != "chain" || g.Revision() != "1" || g.StartAt() != "b" || g.MaxSteps() != 100 {
		t.Errorf("head = %s %s %s %d", g.Name(), g.Revision(), g.StartAt(), g.MaxSteps())
	}
	if want := (workflow.Source{Kind: "builtin", ID: "chain", Revision: "1"}); g.Source() != want {
		t.Errorf("source = %v", g.Source())
	}
	var ids []string
	for _, n := range g.Nodes() {
		ids = append(ids, n.NodeID())
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, ids); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]workflow.Edge{{From: "b", To: "a"}, {From: "a", To: "c"}}, g.Edges()); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if n, found := g.Node("a"); !found || n.NodeID() != "a" || n.Type() != workflow.TypeCompute {
		t.Errorf("node a = %v, %v", n, found)
	}
	if _, found := g.Node("toString"); found {
		t.Error("found a node that is not there")
	}
	if e, found := g.EdgeFrom("b"); !found || e.To != "a" {
		t.Errorf("edge from b = %v, %v", e, found)
	}
	if _, found := g.EdgeFrom("c"); found {
		t.Error("found an edge of the last node")
	}
}

func TestMaxStepsOfTheDefinition(t *testing.T) {
	t.Parallel()
	d := chain("a")
	d.MaxSteps = 7
	if got := compile(t, d).MaxSteps(); got != 7 {
		t.Errorf("MaxSteps = %d, want 7", got)
	}
}

// Whatever a caller does to what it passed in or got back, the graph stays.
func TestGraphNeverChanges(t *testing.T) {
	t.Parallel()
	d := chain("a", "b")
	d.Edges = []workflow.Edge{choice("a", "$.x", "1", "b")}
	g := compile(t, d)
	spoil := func(nodes []workflow.Node, edges []workflow.Edge) {
		nodes[0] = nil
		edges[0].Switch.On = "spoilt"
		edges[0].Switch.Cases[0].To = "spoilt"
		edges[0].From = "spoilt"
	}
	spoil(d.Nodes, d.Edges)
	spoil(g.Definition().Nodes, g.Definition().Edges)
	spoil(g.Nodes(), g.Edges())
	e, _ := g.EdgeFrom("a")
	e.Switch.Cases[0].To = "spoilt"
	copy(g.Snapshot(), "spoilt")

	if diff := cmp.Diff([]workflow.Edge{choice("a", "$.x", "1", "b")}, g.Definition().Edges); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if g.Definition().Nodes[0].NodeID() != "a" || !strings.HasPrefix(string(g.Snapshot()), `{"schema"`) {
		t.Error("nodes or snapshot changed")
	}
	if next, _, err := g.Route(ok("a", `{"x":1}`)); next != "b" || err != nil {
		t.Errorf("Route = %q, %v", next, err)
	}
}

func TestCompileBoundsTheSnapshot(t *testing.T) {
	t.Parallel()
	d := chain("a")
	d.Nodes = []workflow.Node{workflow.Checkpoint{ID: "a", Summary: strings.Repeat("s", workflow.MaxSnapshotBytes)}}
	_, err := workflow.Compile(d)
	var over *limit.Error
	if !errors.As(err, &over) || over.Limit != workflow.MaxSnapshotBytes || over.Size <= over.Limit {
		t.Fatalf("error = %.200v, want the limit and the size", err)
	}
}

func TestCompileTakesTheLargestGraph(t *testing.T) {
	t.Parallel()
	ids := make([]string, workflow.MaxNodes)
	for i := range ids {
		ids[i] = fmt.Sprintf("n%d", i)
	}
	if got := len(compile(t, chain(ids...)).Nodes()); got != workflow.MaxNodes {
		t.Errorf("%d nodes", got)
	}
}
