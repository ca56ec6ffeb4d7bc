package view

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/internal/golden"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// value is a callback that returns the same always.
func value(v any) workflow.Func {
	return func(context.Context, *workflow.Context) (any, error) { return v, nil }
}

// inTurn is a callback that takes routes one after the other.
func inTurn(routes ...string) workflow.Func {
	next := 0
	return func(context.Context, *workflow.Context) (any, error) {
		route := routes[min(next, len(routes)-1)]
		next++
		return map[string]any{"route": route, "reason": fmt.Sprintf("it is turn %d", next)}, nil
	}
}

func loopEdges(t *testing.T, l workflow.Loop) []workflow.Edge {
	t.Helper()
	loop, err := workflow.ControlLoop(l)
	if err != nil {
		t.Fatal(err)
	}
	return loop.Edges()
}

// verification is a loop of its own, which ends by one of two exits.
func verification(t *testing.T) *workflow.Definition {
	t.Helper()
	return &workflow.Definition{
		Name: "verify-change", Revision: "1", StartAt: "look",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "look", Run: value(map[string]any{})},
			workflow.Compute{ID: "decide", Run: inTurn("repair", "accept", "repair", "repair", "accept")},
			workflow.Action{ID: "repair", Run: value(map[string]any{})},
			workflow.Compute{ID: "accept", Run: value(map[string]any{})},
			workflow.Compute{ID: "giveUp", Run: value(map[string]any{})},
		},
		Edges: append(loopEdges(t, workflow.Loop{Decide: "decide", ReturnTo: "look", Routes: []workflow.Route{
			{Name: "repair", To: "repair", Returns: []string{"repair"}},
			{Name: "accept", To: "accept", Terminal: true}, {Name: "giveUp", To: "giveUp", Terminal: true},
		}}), workflow.Edge{From: "look", To: "decide"}),
		Exits: []workflow.Exit{{Name: "ready", From: "accept"}, {Name: "blocked", From: "giveUp"}},
	}
}

// delivery is a control loop with an included workflow as one of its branches.
func delivery(t *testing.T) *workflow.Graph {
	t.Helper()
	g, err := workflow.Compile(&workflow.Definition{
		Name: "deliver", Revision: "1", StartAt: "observe",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "observe", Run: value(map[string]any{})},
			workflow.Compute{ID: "decide", Run: inTurn("implement", "verify", "implement", "verify", "complete")},
			workflow.Action{ID: "implement", Run: func(context.Context, *workflow.Context) (any, error) {
				return nil, errors.New("not \x1b[2J\x07today")
			}},
			workflow.Compute{ID: "implemented", Run: value(map[string]any{})},
			workflow.Compute{ID: "finished", Run: value(map[string]any{"done": true})},
			workflow.Compute{ID: "blocked", Run: value(map[string]any{})},
		},
		Edges: append(loopEdges(t, workflow.Loop{Decide: "decide", ReturnTo: "observe", Routes: []workflow.Route{
			{Name: "implement", To: "implement", Returns: []string{"implemented"}},
			{Name: "verify", To: "verification", Returns: []string{"verification.ready", "verification.blocked"}},
			{Name: "complete", To: "finished", Terminal: true}, {Name: "blocked", To: "blocked", Terminal: true},
		}}), workflow.Edge{From: "observe", To: "decide"}, workflow.Edge{From: "implement", Switch: &workflow.Switch{
			On: "$result.outcome", Cases: []workflow.Case{{Value: "ok", To: "implemented"}, {Value: "failed", To: "implemented"}},
		}}),
		Includes: []workflow.Include{{Mount: "verification", Workflow: verification(t)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// recordedRun runs a graph to its end and reads what was recorded.
func recordedRun(t *testing.T, g *workflow.Graph) *runbundle.Bundle {
	t.Helper()
	run, err := engine.New(engine.Options{RunsDir: t.TempDir()}).Start(t.Context(), g, engine.StartOptions{RunID: "recorded"})
	if err != nil {
		t.Fatal(err)
	}
	if r := run.Wait(); r.Status != runbundle.Completed {
		t.Fatalf("the run ended as %s: %s", r.Status, r.Error)
	}
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What the compiler makes of an included workflow is drawn as a group.
func TestACompiledInclusionIsAGroup(t *testing.T) {
	t.Parallel()
	g, err := GraphOf(delivery(t))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "compiled.txt", g.Draw(DrawOptions{}))
	golden.Check(t, "compiled-full.txt", g.Draw(DrawOptions{Folds: Folds{Full: true}}))
}

// The spec asks for it: the active branch and the latest decision at each step
// of a recorded run. What they must be is worked out here from the steps alone.
func TestReplayOfEachStepOfARecordedLoop(t *testing.T) {
	t.Parallel()
	b := recordedRun(t, delivery(t))
	r, err := NewReplay(b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Steps() < 30 {
		t.Fatalf("only %d steps", r.Steps())
	}
	want := map[string]string{} // the route that each decider chose last, by node
	for i, step := range b.State.Steps {
		switch {
		case step.NodeID == "verification":
			delete(want, "verification/decide") // a new invocation has decided nothing
		case strings.HasSuffix(step.NodeID, "decide"):
			want[step.NodeID] = routeOf(t, step)
		}
		m, err := r.At(i + 1)
		if err != nil {
			t.Fatal(err)
		}
		checkMoment(t, m, step, want)
	}
}

func routeOf(t *testing.T, s runbundle.Step) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(s.Output), `"route":"`)
	route, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no route in %s", s.Output)
	}
	return route
}

func checkMoment(t *testing.T, m *Moment, step runbundle.Step, want map[string]string) {
	t.Helper()
	inside := strings.HasPrefix(step.NodeID, "verification")
	lines := m.Graph(DrawOptions{})
	text := joined(lines)
	head := strings.Join(m.Head(Style{}, began), "\n")
	if strings.ContainsAny(text+head+m.StepTable(0, m.Shown(), Style{}), "\x1b\x07") {
		t.Errorf("step %d: a control character reaches the terminal", m.Shown())
	}
	for node, others := range map[string][]string{
		"decide": {"implement", "verify", "complete", "blocked"}, "verification/decide": {"repair", "accept", "giveUp"},
	} {
		if node == "verification/decide" && !inside {
			continue // its branch is not active any more
		}
		for _, route := range others {
			decided := want[node] == route
			if got := strings.Contains(head, "decision  "+node+" → "+route); got != decided {
				t.Errorf("step %d, %s → %s: told %v, want %v\n%s", m.Shown(), node, route, got, decided, head)
			}
			if got := strings.Contains(text, "═ "+route+" ═"); got != decided {
				t.Errorf("step %d, branch %s of %s: active %v, want %v\n%s", m.Shown(), route, node, got, decided, text)
			}
		}
	}
	if strings.Contains(text, "⊟ verification") != inside {
		t.Errorf("step %d at %s: the group is open or folded wrongly", m.Shown(), step.NodeID)
	}
}
