package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

func run(context.Context, *workflow.Context) (any, error) { return "done", nil }

func text(context.Context, *workflow.Context) (string, error) { return "", nil }

func command(context.Context, *workflow.Context) (workflow.Command, error) {
	return workflow.Command{}, nil
}

func compute(id string) workflow.Node { return workflow.Compute{ID: id, Run: run} }

func computes(ids ...string) []workflow.Node {
	nodes := make([]workflow.Node, len(ids))
	for i, id := range ids {
		nodes[i] = compute(id)
	}
	return nodes
}

// chain is a valid definition whose nodes follow one another.
func chain(ids ...string) *workflow.Definition {
	d := &workflow.Definition{Name: "chain", Revision: "1", StartAt: ids[0], Nodes: computes(ids...)}
	for i := range ids[1:] {
		d.Edges = append(d.Edges, workflow.Edge{From: ids[i], To: ids[i+1]})
	}
	return d
}

// choice is a switch edge; pairs are values and targets in turn.
func choice(from, on string, pairs ...string) workflow.Edge {
	s := &workflow.Switch{On: on}
	for i := 0; i < len(pairs); i += 2 {
		s.Cases = append(s.Cases, workflow.Case{Value: pairs[i], To: pairs[i+1]})
	}
	return workflow.Edge{From: from, Switch: s}
}

func compile(t *testing.T, d *workflow.Definition) *workflow.Graph {
	t.Helper()
	g, err := workflow.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ok(node, output string) workflow.Result {
	return workflow.Result{NodeID: node, Outcome: workflow.OK, Output: json.RawMessage(output)}
}

// flaw is one expected problem: its place, and a part of its message.
type flaw struct{ place, says string }

func invalid(t *testing.T, err error) *workflow.InvalidError {
	t.Helper()
	var invalid *workflow.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error = %v, want an InvalidError", err)
	}
	return invalid
}

// wantFlaws fails unless the problems are the expected ones, in their order.
func wantFlaws(t *testing.T, got []workflow.Problem, want []flaw) {
	t.Helper()
	var gotPlaces, wantPlaces []string
	for _, p := range got {
		gotPlaces = append(gotPlaces, p.Place)
	}
	for _, f := range want {
		wantPlaces = append(wantPlaces, f.place)
	}
	if diff := cmp.Diff(wantPlaces, gotPlaces); diff != "" {
		t.Fatalf("places (-want +got):\n%s\nproblems: %q", diff, got)
	}
	for i, f := range want {
		if !strings.Contains(got[i].Message, f.says) {
			t.Errorf("%s: message %q does not say %q", f.place, got[i].Message, f.says)
		}
	}
}
