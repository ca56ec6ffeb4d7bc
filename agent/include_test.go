package agent_test

import (
	"context"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// A decision within an included workflow keeps its limit, and a script names it
// with its mount.
func TestScriptForAnIncludedWorkflow(t *testing.T) {
	t.Parallel()
	child := count()
	child.Exits = []workflow.Exit{{Name: "done", From: "end"}}
	nothing := func(context.Context, *workflow.Context) (any, error) { return nil, nil }
	parent := &workflow.Definition{
		Name: "parent", Revision: "1", StartAt: "first",
		Includes: []workflow.Include{{Mount: "inner", Workflow: child}},
		Nodes:    []workflow.Node{workflow.Compute{ID: "first", Run: nothing}, workflow.Compute{ID: "last", Run: nothing}},
		Edges:    []workflow.Edge{{From: "first", To: "inner"}, {From: "inner.done", To: "last"}},
	}
	w := newWorld(t)
	s := w.script(`{"nodes": {"inner/answer": [{"submit": 1}], "inner/more": [{"text": "1"}, {"text": "2"}, {"text": "3"}]}}`)
	if err := s.Check(w.graph(parent)); err != nil {
		t.Fatal(err)
	}
	want(t, w.run(parent, s), runbundle.Failed, engine.CodeDecisionBlocked, "decision inner/more is blocked: its limit \"more\"")
}
