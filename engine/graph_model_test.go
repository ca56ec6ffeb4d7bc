package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// The model walks a random graph, with its returns, by the rules as they are
// written down; the engine runs it. The way, the end, and the fold of the trace
// must be the same.
func TestRunsOfRandomGraphsAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	passed := 0
	rapid.Check(t, func(rt *rapid.T) {
		if passed >= enough {
			return
		}
		m := drawGraph(rt)
		r := newRig(t)
		result, b := r.run(m.definition())
		want := m.walk()
		if got := (walked{trail(b), result.Status, result.ErrorCode}); got != want {
			rt.Fatalf("the engine went %+v, the model %+v", got, want)
		}
		first := firstState(b)
		for _, e := range b.Events {
			if err := runbundle.Fold(&first, e); err != nil {
				rt.Fatal(err)
			}
		}
		if got, want := fmt.Sprintf("%+v", first), fmt.Sprintf("%+v", b.State); got != want {
			rt.Fatalf("fold of the trace %s, state %s", got, want)
		}
		passed++
	})
}

// graphModel is a graph whose nodes do at each visit what their script says.
type graphModel struct {
	nodes    []string
	edges    map[string]workflow.Edge
	scripts  map[string][]visit
	maxSteps int
}

// visit is one attempt of a node: its outcome, and the route that its output
// names.
type visit struct {
	outcome workflow.Outcome
	route   string
}

type walked struct {
	trail  string
	status runbundle.Status
	code   string
}

// walk is the model: the rules of routing over the scripts, no JSON and no paths.
func (m graphModel) walk() walked {
	var steps []string
	end := func(status runbundle.Status, code string) walked {
		return walked{strings.Join(steps, " "), status, code}
	}
	visits := map[string]int{}
	for at := m.nodes[0]; ; {
		if len(steps) == m.maxSteps {
			return end(runbundle.Failed, engine.CodeMaxSteps)
		}
		script := m.scripts[at]
		v := script[visits[at]%len(script)]
		visits[at]++
		steps = append(steps, at+":"+string(v.outcome))
		edge, leads := m.edges[at]
		read, caught := v.route, false
		if edge.Switch != nil && edge.Switch.On == "$result.outcome" {
			read, caught = string(v.outcome), true
		}
		switch {
		case v.outcome == workflow.Failed && !caught:
			return end(runbundle.Failed, engine.CodeNode)
		case v.outcome == workflow.TimedOut && !caught:
			return end(runbundle.TimedOut, engine.CodeTimeout)
		case !leads:
			return end(runbundle.Completed, "")
		case edge.Switch == nil:
			at = edge.To
			continue
		}
		i := slices.IndexFunc(edge.Switch.Cases, func(c workflow.Case) bool { return c.Value == read })
		if i < 0 {
			return end(runbundle.Failed, "route_failed")
		}
		at = edge.Switch.Cases[i].To
	}
}

func (m graphModel) definition() *workflow.Definition {
	d := &workflow.Definition{Name: "greet", Revision: "1", StartAt: m.nodes[0], MaxSteps: m.maxSteps}
	for _, id := range m.nodes {
		visits := 0
		d.Nodes = append(d.Nodes, compute(id, func(context.Context, *workflow.Context) (any, error) {
			script := m.scripts[id]
			v := script[visits%len(script)]
			visits++
			errs := map[workflow.Outcome]error{workflow.Failed: errors.New("x"), workflow.TimedOut: &engine.TimeoutError{}}
			return json.RawMessage(fmt.Sprintf(`{"r":%q}`, v.route)), errs[v.outcome]
		}))
		if e, leads := m.edges[id]; leads {
			d.Edges = append(d.Edges, e)
		}
	}
	return d
}

// drawGraph draws a graph in which a node may lead anywhere, back to the start
// and to itself. Every node but the first has a case that leads to it from the
// node before, so that all can be reached.
func drawGraph(rt *rapid.T) graphModel {
	m := graphModel{
		edges: map[string]workflow.Edge{}, scripts: map[string][]visit{},
		maxSteps: rapid.IntRange(1, 12).Draw(rt, "maxSteps"),
	}
	for i := range rapid.IntRange(1, 5).Draw(rt, "nodes") {
		m.nodes = append(m.nodes, fmt.Sprint("n", i))
	}
	for i, id := range m.nodes {
		next := m.nodes[min(i+1, len(m.nodes)-1)]
		last := i == len(m.nodes)-1
		if kind := rapid.SampledFrom([]string{"plain", "$.r", "$result.outcome", "none"}).Draw(rt, "edge"); kind != "none" || !last {
			m.edges[id] = drawEdge(rt, m.nodes, id, next, kind)
		}
		m.scripts[id] = rapid.SliceOfN(rapid.Custom(drawVisit), 1, 3).Draw(rt, "script")
	}
	return m
}

func drawEdge(rt *rapid.T, nodes []string, from, next, kind string) workflow.Edge {
	anywhere := rapid.SampledFrom(nodes)
	values := map[string][]string{"$.r": {"a", "b", "c"}, "$result.outcome": {"ok", "failed", "timed_out"}}[kind]
	if values == nil {
		return workflow.Edge{From: from, To: next}
	}
	s := routes(kind, values[0]+">"+next)
	for _, value := range values[1:] {
		if rapid.Bool().Draw(rt, "case") {
			s.Cases = append(s.Cases, workflow.Case{Value: value, To: anywhere.Draw(rt, "to")})
		}
	}
	return workflow.Edge{From: from, Switch: s}
}

func drawVisit(rt *rapid.T) visit {
	return visit{
		rapid.SampledFrom([]workflow.Outcome{workflow.OK, workflow.OK, workflow.OK, workflow.Failed, workflow.TimedOut}).Draw(rt, "outcome"),
		rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "route"),
	}
}

// firstState is what a bundle shows before its first event.
func firstState(b *runbundle.Bundle) runbundle.State {
	s := b.State
	return runbundle.State{
		Schema: s.Schema, RunID: s.RunID, WorkflowName: s.WorkflowName, WorkflowSource: s.WorkflowSource,
		DefinitionDigest: s.DefinitionDigest, StartedAt: s.StartedAt, Status: runbundle.Running,
		Outputs: map[string]json.RawMessage{}, Results: map[string]runbundle.Result{}, Steps: []runbundle.Step{}, Updates: []runbundle.Update{},
	}
}
