package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/workflow"
)

// The model looks through the whole history for every question, by the rules as
// they are written down; Scopes remembers what it needs. Both must agree in every
// walk through every composition.
func TestScopesAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root := drawComposition(t, 3)
		root.MaxSteps *= 10
		g, err := workflow.Compile(root)
		if err != nil {
			t.Fatal(err)
		}
		w := walk{t: t, g: g, scopes: g.Follow(0), m: modelOf(root)}
		for next, done := g.StartAt(), false; !done && len(w.m.steps) < 60; {
			next, done = w.step(next)
		}
	})
}

// drawComposition returns a workflow that goes, in any order, through a node that
// may fail, its mounts and one of two ends.
func drawComposition(t *rapid.T, depth int) *workflow.Definition {
	d := &workflow.Definition{
		Name: fmt.Sprint("depth", depth), Revision: "1", StartAt: "pick", Nodes: computes("pick", "work", "out", "done"),
		Edges: []workflow.Edge{choice("work", "$result.outcome", "ok", "pick", "failed", "pick", "timed_out", "pick")},
		Exits: []workflow.Exit{{Name: "out", From: "out"}, {Name: "done", From: "done"}},
	}
	if rapid.Bool().Draw(t, "limited") {
		d.MaxSteps = rapid.IntRange(2, 9).Draw(t, "maxSteps")
	}
	cases := []string{"work", "work", "out", "out", "done", "done"}
	if depth > 0 {
		for i := range rapid.IntRange(0, 2).Draw(t, "mounts") {
			mount := fmt.Sprint("m", i)
			d.Includes = append(d.Includes, workflow.Include{Mount: mount, Workflow: drawComposition(t, depth-1), Input: countSteps})
			d.Edges = append(d.Edges, workflow.Edge{From: mount + ".out", To: "pick"}, workflow.Edge{From: mount + ".done", To: "pick"})
			cases = append(cases, mount, mount)
		}
		if len(d.Includes) == 2 && rapid.Bool().Draw(t, "same") {
			d.Includes[1].Workflow = d.Includes[0].Workflow
		}
	}
	d.Edges = append(d.Edges, choice("pick", "$.to", cases...))
	return d
}

func countSteps(_ context.Context, c *workflow.Context) (any, error) { return c.View.Steps(), nil }

// walk is one run through a composition.
type walk struct {
	t      *rapid.T
	g      *workflow.Graph
	scopes *workflow.Scopes
	m      *scopesModel
}

// step compares what is known before a step, then makes it.
func (w *walk) step(id string) (next string, done bool) {
	at := w.m.site(id)
	want := w.m.allow(id)
	if got := fmt.Sprint(w.scopes.Allow(id)); got != want {
		w.t.Fatalf("limit at %s is %q, model says %q", id, got, want)
	}
	if want != "<nil>" {
		return "", true
	}
	seen := w.scopes.Context(id, &workflow.Context{Input: json.RawMessage(`"root"`), View: w.m})
	if want, got := w.m.seen(at.scope), w.read(seen, at.scope); !reflect.DeepEqual(want, got) {
		w.t.Fatalf("step %d at %s (-model +got):\n%s", len(w.m.steps), id, cmp.Diff(want, got))
	}
	s := workflow.Step{AttemptID: strconv.Itoa(len(w.m.steps)), NodeID: id, NodeType: workflow.TypeCompute}
	s.Outcome, s.Output = w.act(id, seen)
	w.m.steps = append(w.m.steps, s)
	w.scopes.Record(len(w.m.steps)-1, s)
	next, done, err := w.g.Route(workflow.Result{NodeID: id, Outcome: s.Outcome, Output: s.Output})
	if err != nil {
		w.t.Fatal(err)
	}
	return next, done
}

func (w *walk) act(id string, seen *workflow.Context) (workflow.Outcome, json.RawMessage) {
	at := w.m.site(id)
	switch {
	case at.crosses:
		n, _ := w.g.Node(id)
		out, err := n.(workflow.Compute).Run(w.t.Context(), seen)
		if err != nil {
			w.t.Fatalf("%s: %v", id, err)
		}
		return workflow.OK, json.RawMessage(asJSON(out))
	case at.name == "pick":
		targets := []string{"work", "work"}
		for _, in := range w.m.defs[at.scope].Includes {
			targets = append(targets, in.Mount)
		}
		if at.scope != "" { // the root goes on as long as it may
			targets = append(targets, "out", "done")
		}
		return workflow.OK, json.RawMessage(asJSON(map[string]string{"to": rapid.SampledFrom(targets).Draw(w.t, "to")}))
	case at.name == "work":
		if o := rapid.SampledFrom([]workflow.Outcome{workflow.OK, workflow.Failed, workflow.TimedOut}).Draw(w.t, "outcome"); o != workflow.OK {
			return o, nil
		}
	}
	return workflow.OK, json.RawMessage(asJSON(len(w.m.steps)))
}

// scopeSeen is all that a callback can read.
type scopeSeen struct {
	Input   string
	Steps   []workflow.Step
	Outputs map[string]string
	Results map[string]workflow.Result
}

func (w *walk) read(c *workflow.Context, scope string) scopeSeen {
	s := scopeSeen{Input: string(c.Input), Outputs: map[string]string{}, Results: map[string]workflow.Result{}}
	for i := range c.View.Steps() {
		s.Steps = append(s.Steps, c.View.Step(i))
	}
	for _, name := range append(w.m.names(scope), "m0/pick", "m0.out", "nobody") {
		if output, ok := c.View.Output(name); ok {
			s.Outputs[name] = string(output)
		}
		if result, ok := c.View.Result(name); ok {
			s.Results[name] = result
		}
	}
	return s
}

// scopesModel is the history of a walk, and its raw view.
type scopesModel struct {
	// defs are the definitions by the paths at which they are mounted.
	defs  map[string]*workflow.Definition
	steps []workflow.Step
}

func modelOf(root *workflow.Definition) *scopesModel {
	m := &scopesModel{defs: map[string]*workflow.Definition{}}
	var mount func(path string, d *workflow.Definition)
	mount = func(path string, d *workflow.Definition) {
		m.defs[path] = d
		for _, in := range d.Includes {
			mount(joined(path, in.Mount), in.Workflow)
		}
	}
	mount("", root)
	return m
}

func joined(path, name string) string { return strings.TrimPrefix(path+"/"+name, "/") }

func split(id string) (path, name string) {
	i := strings.LastIndex(id, "/")
	return id[:max(i, 0)], id[i+1:]
}

// modelSite is where a node belongs: the scope whose names its callbacks see, and
// its name in the scope that sees its step.
type modelSite struct {
	scope, name string
	crosses     bool
	// seenBy is the scope that sees the step; "-" is none.
	seenBy string
}

func (m *scopesModel) site(id string) modelSite {
	path, name := split(id)
	if _, isMount := m.defs[id]; isMount {
		return modelSite{scope: path, crosses: true, seenBy: "-"}
	}
	if strings.HasPrefix(name, "__piw_exit_") {
		parent, mount := split(path)
		return modelSite{scope: path, name: mount, crosses: true, seenBy: parent}
	}
	return modelSite{scope: path, name: name, seenBy: path}
}

func (m *scopesModel) names(scope string) []string {
	var list []string
	for _, n := range m.defs[scope].Nodes {
		list = append(list, n.NodeID())
	}
	for _, in := range m.defs[scope].Includes {
		list = append(list, in.Mount)
	}
	return list
}

// since is the first step after the latest entry of a scope.
func (m *scopesModel) since(scope string) int {
	for i := len(m.steps) - 1; i >= 0 && scope != ""; i-- {
		if m.steps[i].NodeID == scope {
			return i + 1
		}
	}
	return 0
}

func (m *scopesModel) seen(scope string) scopeSeen {
	s := scopeSeen{Input: `"root"`, Outputs: map[string]string{}, Results: map[string]workflow.Result{}}
	since := m.since(scope)
	if scope != "" {
		var e struct{ Input json.RawMessage }
		if err := json.Unmarshal(m.steps[since-1].Output, &e); err != nil {
			panic(err)
		}
		s.Input = string(e.Input)
	}
	for _, step := range m.steps[since:] {
		at := m.site(step.NodeID)
		if at.seenBy != scope {
			continue
		}
		step.NodeID = at.name
		s.Steps = append(s.Steps, step)
		s.Results[at.name] = workflow.Result{}
	}
	for name := range s.Results {
		full := joined(scope, name)
		s.Results[name], _ = m.Result(full)
		if output, ok := m.Output(full); ok {
			s.Outputs[name] = string(output)
		}
	}
	return s
}

// allow is the text of the error of the first limit that is used up.
func (m *scopesModel) allow(id string) string {
	at := m.site(id)
	if at.crosses {
		return "<nil>"
	}
	for _, path := range outermostFirst(at.scope) {
		d := m.defs[path]
		most := d.MaxSteps
		if path == "" && most == 0 {
			most = workflow.DefaultMaxSteps
		}
		if most > 0 && m.spent(path) >= most {
			e := &workflow.StepLimitError{Workflow: d.Name, Mount: path, Max: most}
			return e.Error()
		}
	}
	return "<nil>"
}

func outermostFirst(scope string) []string {
	paths := []string{""}
	for i, c := range scope + "/" {
		if c == '/' && i > 0 {
			paths = append(paths, scope[:i])
		}
	}
	return paths
}

func (m *scopesModel) spent(scope string) int {
	n := 0
	for _, step := range m.steps[m.since(scope):] {
		at := m.site(step.NodeID)
		within := scope == "" || at.scope == scope || strings.HasPrefix(at.scope, scope+"/")
		if within && !at.crosses {
			n++
		}
	}
	return n
}

// latest is the step that the record shows under an ID; an exit stands for its mount.
func (m *scopesModel) latest(id string) (workflow.Step, bool) {
	for _, s := range slices.Backward(m.steps) {
		path, name := split(s.NodeID)
		if s.NodeID == id || path == id && strings.HasPrefix(name, "__piw_exit_") {
			return s, true
		}
	}
	return workflow.Step{}, false
}

func (m *scopesModel) Output(id string) (json.RawMessage, bool) {
	s, ok := m.latest(id)
	return s.Output, ok && s.Outcome == workflow.OK
}

func (m *scopesModel) Result(id string) (workflow.Result, bool) {
	s, ok := m.latest(id)
	return workflow.Result{AttemptID: s.AttemptID, NodeID: id, NodeType: s.NodeType, Outcome: s.Outcome, Output: s.Output}, ok
}

func (m *scopesModel) Steps() int { return len(m.steps) }

func (m *scopesModel) Step(i int) workflow.Step { return m.steps[i] }

func (m *scopesModel) Updates() []workflow.Published { return nil }
