package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

// child is a valid workflow to include: work leads to one of two exits.
func child() *workflow.Definition {
	return &workflow.Definition{
		Name: "child", Revision: "7", StartAt: "work", Nodes: computes("work", "good", "bad"),
		Edges: []workflow.Edge{choice("work", "$.result", "good", "good", "bad", "bad")},
		Exits: []workflow.Exit{{Name: "ready", From: "good"}, {Name: "blocked", From: "bad"}},
	}
}

// parent is a valid workflow that includes a child as check.
func parent(included *workflow.Definition) *workflow.Definition {
	return &workflow.Definition{
		Name: "parent", Revision: "1", StartAt: "begin", Nodes: computes("begin", "end"),
		Includes: []workflow.Include{{Mount: "check", Workflow: included}},
		Edges: []workflow.Edge{
			{From: "begin", To: "check"}, {From: "check.ready", To: "end"}, {From: "check.blocked", To: "begin"},
		},
	}
}

// nest is a parent that has the exits of its child.
func nest(d *workflow.Definition) *workflow.Definition {
	outer := parent(d)
	outer.Nodes = append(outer.Nodes, compute("stop"))
	outer.Edges[2].To = "stop"
	outer.Exits = []workflow.Exit{{Name: "ready", From: "end"}, {Name: "blocked", From: "stop"}}
	return outer
}

func TestIncludeChecks(t *testing.T) {
	t.Parallel()
	const at = "includes.check.workflow."
	tests := map[string]struct {
		change func(p, c *workflow.Definition)
		want   []flaw
	}{
		"valid":       {func(_, _ *workflow.Definition) {}, nil},
		"no workflow": {func(p, _ *workflow.Definition) { p.Includes[0].Workflow = nil }, []flaw{{"includes.check.workflow", "required"}}},
		"bad mount": {func(p, _ *workflow.Definition) {
			p.Includes = append(p.Includes, workflow.Include{Mount: "a.b", Workflow: child()})
		}, []flaw{{"includes[1].mount", "no valid name"}, {"includes.a.b", "no path leads"}}},
		"mount twice": {func(p, c *workflow.Definition) {
			p.Includes = append(p.Includes, workflow.Include{Mount: "check", Workflow: c})
		}, []flaw{{"includes[1].mount", "includes[0] has the name"}}},
		"mount is a node": {func(p, _ *workflow.Definition) {
			p.Nodes = append(p.Nodes, compute("check"))
		}, []flaw{{"includes[0].mount", `"check" is a node`}}},
		"starts at a mount":  {func(p, _ *workflow.Definition) { p.StartAt = "check" }, []flaw{{"startAt", "is a mount"}}},
		"edge from a mount":  {func(p, _ *workflow.Definition) { p.Edges[1].From = "check" }, []flaw{{"edges[1].from", "written check.exit"}}},
		"edge from no exit":  {func(p, _ *workflow.Definition) { p.Edges[2].From = "check.done" }, []flaw{{"edges[2].from", `has no exit "done"`}}},
		"mount not reached":  {func(p, _ *workflow.Definition) { p.Edges[0].To = "end" }, []flaw{{"includes.check", "no path leads"}}},
		"exit from nowhere":  {func(_, c *workflow.Definition) { c.Exits[0].From = "x" }, []flaw{{at + "exits.ready.from", `no node "x"`}, {at + "nodes.good", "would end here"}}},
		"exit has an edge":   {func(_, c *workflow.Definition) { c.Edges = append(c.Edges, workflow.Edge{From: "bad", To: "good"}) }, []flaw{{at + "exits.blocked.from", "has an outgoing edge"}}},
		"two exits, a node":  {func(_, c *workflow.Definition) { c.Exits[1].From = "good" }, []flaw{{at + "exits.blocked.from", `"ready" follows "good"`}, {at + "nodes.bad", "would end here"}}},
		"exit twice":         {func(p, c *workflow.Definition) { c.Exits[1].Name = "ready"; p.Edges = p.Edges[:2] }, []flaw{{at + "exits[1].name", "exits[0] has the name"}}},
		"no exits":           {func(p, c *workflow.Definition) { c.Exits = nil; p.Edges = p.Edges[:1]; p.Nodes = p.Nodes[:1] }, []flaw{{at + "exits", "at least one"}, {at + "nodes.good", "would end here"}, {at + "nodes.bad", "would end here"}}},
		"fault of the child": {func(_, c *workflow.Definition) { c.Revision = "" }, []flaw{{at + "revision", "does not match"}}},
		"mount of nothing, nested": {func(_, c *workflow.Definition) {
			c.Includes = []workflow.Include{{Mount: "deep"}}
			c.Edges[0].Switch.Cases[1].To = "deep"
			c.Edges = append(c.Edges, workflow.Edge{From: "deep.done", To: "bad"})
		}, []flaw{{at + "includes.deep.workflow", "required"}}},
		"edge from an exit of no mount": {func(p, _ *workflow.Definition) { p.Edges[2].From = "chekc.blocked" }, []flaw{{"edges[2].from", `no mount "chekc"`}}},
		"exit from an exit": {func(p, _ *workflow.Definition) {
			p.Exits = []workflow.Exit{{Name: "done", From: "check.ready"}}
		}, []flaw{{"exits.done.from", `no node "check.ready"`}}},
		"exit without a node": {func(p, _ *workflow.Definition) { p.Exits = []workflow.Exit{{Name: "done"}} }, []flaw{{"exits.done.from", "required"}}},
		"several at once": {func(p, c *workflow.Definition) {
			p.Edges[0].To, c.Revision, c.Exits[0].From = "chekc", "", "godo"
		}, []flaw{
			{"edges[0].to", `"chekc"`}, {"nodes.end", "no path leads"}, {"includes.check", "no path leads"},
			{at + "revision", "does not match"}, {at + "exits.ready.from", `no node "godo"`}, {at + "nodes.good", "would end here"},
		}},
		"exits of a root": {func(p, _ *workflow.Definition) { p.Exits = []workflow.Exit{{Name: "done", From: "end"}} }, nil},
		"exit left open":  {func(p, _ *workflow.Definition) { p.Edges = p.Edges[:2] }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := child()
			p := parent(c)
			test.change(p, c)
			_, err := workflow.Compile(p)
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantFlaws(t, invalid(t, err).Problems, test.want)
		})
	}
}

func TestANestedExitMustLeadOn(t *testing.T) {
	t.Parallel()
	middle := parent(child())
	middle.Exits = []workflow.Exit{{Name: "ready", From: "end"}}
	middle.Edges = middle.Edges[:2] // check.blocked leads nowhere
	root := parent(middle)
	root.Edges = root.Edges[:2]
	_, err := workflow.Compile(root)
	wantFlaws(t, invalid(t, err).Problems, []flaw{{"includes.check.workflow.includes.check", "add an edge from check.blocked"}})
	if _, err := workflow.Compile(middle); err != nil {
		t.Errorf("in a root it may be left open: %v", err)
	}
}

func TestWorkflowsThatIncludeThemselves(t *testing.T) {
	t.Parallel()
	a := nest(child())
	b := nest(a)
	a.Name, b.Name = "a", "b"
	a.Includes[0].Workflow = b
	_, err := workflow.Compile(parent(a))
	wantFlaws(t, invalid(t, err).Problems, []flaw{{
		"includes.check.workflow.includes.check.workflow.includes.check.workflow", `("parent" → "a" → "b" → "a")`,
	}})
}

func TestIncludesAreBounded(t *testing.T) {
	t.Parallel()
	d := child()
	for range workflow.MaxDepth - 1 {
		d = nest(d)
	}
	if _, err := workflow.Compile(d); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := workflow.Compile(nest(d))
	if got := invalid(t, err).Problems; len(got) != 1 || !strings.Contains(got[0].Message, "more than 16 workflows deep") {
		t.Errorf("problems %q", got)
	}

	wide := child()
	for range 14 { // each includes the one before twice
		wide = twice(nest(wide))
	}
	_, err = workflow.Compile(wide)
	if got := invalid(t, err).Problems; !strings.Contains(got[0].Message, "more than 10000") {
		t.Errorf("problems %q", got)
	}
}

// twice includes what a definition includes once more.
func twice(d *workflow.Definition) *workflow.Definition {
	d.Includes = append(d.Includes, workflow.Include{Mount: "again", Workflow: d.Includes[0].Workflow})
	d.Edges[1].To = "again"
	d.Edges = append(d.Edges, workflow.Edge{From: "again.ready", To: "end"}, workflow.Edge{From: "again.blocked", To: "stop"})
	return d
}

func TestIncludedNodesAndEdges(t *testing.T) {
	t.Parallel()
	g := compile(t, parent(child()))
	var nodes, edges []string
	for _, n := range g.Nodes() {
		nodes = append(nodes, n.NodeID())
	}
	for _, e := range g.Edges() {
		to := []string{e.To}
		if e.Switch != nil {
			to = nil
			for _, c := range e.Switch.Cases {
				to = append(to, c.Value+":"+c.To)
			}
		}
		edges = append(edges, e.From+" → "+strings.Join(to, " "))
	}
	if diff := cmp.Diff([]string{
		"begin", "end", "check", "check/__piw_exit_ready", "check/__piw_exit_blocked", "check/work", "check/good", "check/bad",
	}, nodes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"check → check/work",
		"check/good → check/__piw_exit_ready",
		"check/bad → check/__piw_exit_blocked",
		"check/work → good:check/good bad:check/bad",
		"begin → check",
		"check/__piw_exit_ready → end",
		"check/__piw_exit_blocked → begin",
	}, edges); diff != "" {
		t.Error(diff)
	}
}

// A composition has a workflow in a workflow in a workflow, and one twice.
func TestSnapshotOfACompositionGolden(t *testing.T) {
	t.Parallel()
	inner := child()
	inner.MaxSteps, inner.Nodes[0] = 9, workflow.Shell{ID: "work", Exec: command, StatusDetail: "working"}
	middle := nest(inner)
	middle.Name = "middle"
	d := parent(middle)
	d.Includes = append(d.Includes, workflow.Include{Mount: "again", Workflow: inner})
	d.Edges[1].To = "again"
	d.Edges = append(d.Edges, workflow.Edge{From: "again.ready", To: "end"}) // again.blocked is left open
	wantGolden(t, "composition.json", d)
}

func TestSourcesOfAComposition(t *testing.T) {
	t.Parallel()
	source := func(revision string) workflow.Source {
		return workflow.Source{Kind: "builtin", ID: "child", Revision: revision}
	}
	old := child()
	old.Revision = "6"
	d := parent(nest(old))
	d.Includes = append(d.Includes, workflow.Include{Mount: "a", Workflow: child()})
	d.Edges[1].To = "a"
	d.Edges = append(d.Edges, workflow.Edge{From: "a.ready", To: "end"})
	want := []workflow.MountedSource{
		{MountPath: []string{"a"}, WorkflowName: "child", Source: source("7")},
		{MountPath: []string{"check"}, WorkflowName: "parent", Source: workflow.Source{Kind: "builtin", ID: "parent", Revision: "1"}},
		{MountPath: []string{"check", "check"}, WorkflowName: "child", Source: source("6")},
	}
	if diff := cmp.Diff(want, compile(t, d).Sources()); diff != "" {
		t.Error(diff)
	}
	if got := compile(t, chain("a")).Sources(); got != nil {
		t.Errorf("a workflow alone has the sources %v", got)
	}
}

func TestDigestCoversWhatIsIncluded(t *testing.T) {
	t.Parallel()
	before := compile(t, parent(child())).Digest()
	changed := child()
	changed.Edges[0].Switch.Cases[1].Value = "worse"
	if compile(t, parent(changed)).Digest() == before {
		t.Error("a changed child leaves the digest as it was")
	}
}

// The graph shares nothing with the definitions that it was made of.
func TestAGraphDoesNotChangeWithItsChildren(t *testing.T) {
	t.Parallel()
	c := child()
	g := compile(t, parent(c))
	c.MaxSteps, c.Exits[0].Name = 1, "other"
	if got := g.Definition().Includes[0].Workflow; got.MaxSteps != 0 || got.Exits[0].Name != "ready" {
		t.Errorf("the graph has %+v", got)
	}
}

func ExampleInclude() {
	review := &workflow.Definition{
		Name: "review", Revision: "1", StartAt: "read",
		Nodes: []workflow.Node{workflow.Compute{ID: "read", Run: func(_ context.Context, c *workflow.Context) (any, error) {
			return map[string]json.RawMessage{"read": c.Input}, nil
		}}},
		Exits: []workflow.Exit{{Name: "done", From: "read"}},
	}
	g, err := workflow.Compile(&workflow.Definition{
		Name: "publish", Revision: "1", StartAt: "draft",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "draft", Run: func(context.Context, *workflow.Context) (any, error) { return "a text", nil }},
			workflow.Compute{ID: "print", Run: func(_ context.Context, c *workflow.Context) (any, error) {
				return workflow.OutputAs[workflow.ExitResult](c, "review")
			}},
		},
		Includes: []workflow.Include{{Mount: "review", Workflow: review, Input: func(_ context.Context, c *workflow.Context) (any, error) {
			return workflow.OutputAs[string](c, "draft")
		}}},
		Edges: []workflow.Edge{{From: "draft", To: "review"}, {From: "review.done", To: "print"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes() {
		fmt.Println(n.NodeID())
	}
	// Output:
	// draft
	// print
	// review
	// review/__piw_exit_done
	// review/read
}
