package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// counter is a child that adds one to its input and tells what it saw when it
// was entered. It leaves by small while the sum is below three.
func counter() *workflow.Definition {
	return &workflow.Definition{
		Name: "counter", Revision: "1", StartAt: "add",
		Nodes: []workflow.Node{
			compute("add", func(_ context.Context, c *workflow.Context) (any, error) {
				n, err := workflow.InputAs[int](c)
				_, before := c.View.Output("add")
				return sum{N: n + 1, Seen: c.View.Steps(), Before: before}, err
			}),
			compute("size", func(_ context.Context, c *workflow.Context) (any, error) {
				s, err := workflow.OutputAs[sum](c, "add")
				size := "large"
				if s.N < 3 {
					size = "small"
				}
				return map[string]string{"size": size, "steps": fmt.Sprint(c.View.Steps(), c.View.Step(0).NodeID)}, err
			}),
			compute("small", func(_ context.Context, c *workflow.Context) (any, error) {
				return workflow.OutputAs[sum](c, "add")
			}),
			compute("large", func(_ context.Context, c *workflow.Context) (any, error) {
				return workflow.OutputAs[sum](c, "add")
			}),
		},
		Edges: []workflow.Edge{
			{From: "add", To: "size"},
			{From: "size", Switch: routes("$.size", "small>small", "large>large")},
		},
		Exits: []workflow.Exit{{Name: "small", From: "small"}, {Name: "large", From: "large"}},
	}
}

// sum is the output of counter.
type sum struct {
	N      int  `json:"n"`
	Seen   int  `json:"seen"`
	Before bool `json:"before"`
}

// counted counts with a child until it is large.
func counted(child *workflow.Definition) *workflow.Definition {
	return &workflow.Definition{
		Name: "greet", Revision: "1", StartAt: "begin", MaxSteps: 40,
		Nodes: []workflow.Node{compute("begin", gives(0, nil)), compute("end", func(_ context.Context, c *workflow.Context) (any, error) {
			return workflow.OutputAs[workflow.ExitResult](c, "count")
		})},
		Includes: []workflow.Include{{Mount: "count", Workflow: child, Input: func(_ context.Context, c *workflow.Context) (any, error) {
			var before struct{ Output sum }
			if raw, again := c.View.Output("count"); again {
				return before.Output.N, json.Unmarshal(raw, &before)
			}
			return workflow.OutputAs[int](c, "begin")
		}}},
		Edges: []workflow.Edge{
			{From: "begin", To: "count"}, {From: "count.small", To: "again"}, {From: "again", To: "count"}, {From: "count.large", To: "end"},
		},
	}
}

// loops is counted with the node that leads back, whose view is recorded.
func loops(child *workflow.Definition) *workflow.Definition {
	d := counted(child)
	d.Nodes = append(d.Nodes, compute("again", func(_ context.Context, c *workflow.Context) (any, error) {
		var names []string
		for i := range c.View.Steps() {
			names = append(names, c.View.Step(i).NodeID)
		}
		_, private := c.View.Output("add")
		return map[string]any{"steps": names, "private": private}, nil
	}))
	return d
}

func TestAChildIsReenteredWithNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(loops(counter()))
	r.want(result, runbundle.Completed, "", "")
	if got, want := string(result.FinalOutput), `{"exit":"large","output":{"n":3,"seen":0,"before":false}}`; got != want {
		t.Errorf("final output %s, want %s", got, want)
	}
	var seen struct {
		Steps   []string
		Private bool
	}
	if err := json.Unmarshal(b.State.Outputs["again"], &seen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"begin", "count", "again", "count"}, seen.Steps); diff != "" || seen.Private {
		t.Errorf("the parent sees %s (private outputs: %v)", diff, seen.Private)
	}
	if got := string(b.State.Outputs["count/size"]); got != `{"size":"large","steps":"1add"}` {
		t.Errorf("the child sees %s", got)
	}
	if got := b.State.Results["count"]; got.NodeID != "count" || string(got.Output) != string(result.FinalOutput) {
		t.Errorf("result of the mount: %+v", got)
	}
}

func TestIncludesAreInTheTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, b := r.run(loops(counter()))
	var crossings []string
	for i, e := range b.Events {
		if e.Type != runbundle.EventIncludeEntered && e.Type != runbundle.EventIncludeExited {
			continue
		}
		if before := b.Events[i-1]; before.Type != runbundle.EventNodeFinished || e.Scope != runbundle.ScopeRun {
			t.Errorf("event %d follows %s in scope %s", e.Seq, before.Type, e.Scope)
		}
		crossings = append(crossings, string(e.Payload))
	}
	in := func(n int) string {
		return fmt.Sprintf(`{"mountPath":["count"],"workflowName":"counter","invocation":%d`, n)
	}
	if diff := cmp.Diff([]string{
		in(1) + `}`, in(1) + `,"exit":"small","output":{"exit":"small","output":{"n":1,"seen":0,"before":false}}}`,
		in(2) + `}`, in(2) + `,"exit":"small","output":{"exit":"small","output":{"n":2,"seen":0,"before":false}}}`,
		in(3) + `}`, in(3) + `,"exit":"large","output":{"exit":"large","output":{"n":3,"seen":0,"before":false}}}`,
	}, crossings); diff != "" {
		t.Error(diff)
	}
	entry := `{"schema":"pi-workflows.include-entry.v1","invocation":1,"input":0}`
	if got := string(b.State.Steps[1].Output); got != entry {
		t.Errorf("entry %s, want %s", got, entry)
	}
}

func TestIdentityOfAComposedRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, b := r.run(loops(counter()))
	want := `[{"mountPath":["count"],"workflowName":"counter","source":{"kind":"builtin","id":"counter","revision":"1"}}]`
	var compact strings.Builder
	enc := json.NewEncoder(&compact)
	if err := enc.Encode(b.State.WorkflowSources); err != nil || strings.TrimSpace(compact.String()) != want {
		t.Errorf("sources %s, %v", compact.String(), err)
	}
	if !strings.HasPrefix(b.State.DefinitionDigest, "sha256:") {
		t.Errorf("digest %q", b.State.DefinitionDigest)
	}
}

func TestLimitsOfAComposition(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		root, child int
		status      runbundle.Status
		message     string
		steps       int // attempts that are no transitions
	}{
		{"just enough", 13, 3, runbundle.Completed, "", 13},
		{"the child's, each time anew", 0, 2, runbundle.Failed, "workflow counter exceeded maxSteps 2 since it was entered as count", 3},
		{"the run's", 12, 3, runbundle.Failed, "workflow greet exceeded maxSteps 12", 12},
		{"no limit of the child", 13, 0, runbundle.Completed, "", 13},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			child := counter()
			child.MaxSteps = test.child
			d := loops(child)
			d.MaxSteps = test.root
			result, b := r.run(d)
			code := ""
			if test.status == runbundle.Failed {
				code = engine.CodeMaxSteps
			}
			r.want(result, test.status, code, test.message)
			attempts := 0
			for _, s := range b.State.Steps {
				if s.NodeID != "count" && !strings.Contains(s.NodeID, "__piw_exit_") {
					attempts++
				}
			}
			if attempts != test.steps {
				t.Errorf("%d attempts, want %d: %s", attempts, test.steps, trail(b))
			}
		})
	}
}

func TestInputOfAChild(t *testing.T) {
	t.Parallel()
	echo := func() *workflow.Definition {
		return &workflow.Definition{
			Name: "echo", Revision: "1", StartAt: "say",
			Nodes: []workflow.Node{compute("say", func(_ context.Context, c *workflow.Context) (any, error) { return c.Input, nil })},
			Exits: []workflow.Exit{{Name: "said", From: "say"}},
		}
	}
	tests := []struct {
		name   string
		change func(in *workflow.Include)
		want   string
		says   string
	}{
		{"that of the parent", func(*workflow.Include) {}, `{"exit":"said","output":{"n":1}}`, ""},
		{"mapped", func(in *workflow.Include) { in.Input = gives([]int{2}, nil) }, `{"exit":"said","output":[2]}`, ""},
		{"mapped to nothing", func(in *workflow.Include) { in.Input = gives(nil, nil) }, `{"exit":"said","output":null}`, ""},
		{"mapped, then normalised", func(in *workflow.Include) {
			in.Input = gives(3, nil)
			in.Workflow.Input = func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
				return raw(`"was ` + string(input) + `"`), nil
			}
		}, `{"exit":"said","output":"was 3"}`, ""},
		{"a mapper that fails", func(in *workflow.Include) { in.Input = gives(nil, errors.New("no idea")) }, "", "no idea"},
		{"one that the child refuses", func(in *workflow.Include) {
			in.Workflow.Input = func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("a name is required")
			}
		}, "", "workflow echo refuses the input of mount echo: a name is required"},
		{"checked at the exit", func(in *workflow.Include) {
			in.Workflow.Exits[0].Validate = func(_ context.Context, output json.RawMessage) (json.RawMessage, error) {
				return raw(`{"checked":` + string(output) + `}`), nil
			}
		}, `{"exit":"said","output":{"checked":{"n":1}}}`, ""},
		{"refused at the exit", func(in *workflow.Include) {
			in.Workflow.Exits[0].Validate = func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("not good") }
		}, "", "exit said refuses the output of node say: not good"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start.Input = raw(`{"n":1}`)
			d := &workflow.Definition{
				Name: "greet", Revision: "1", StartAt: "begin", Nodes: []workflow.Node{compute("begin", gives(nil, nil))},
				Includes: []workflow.Include{{Mount: "echo", Workflow: echo()}}, Edges: []workflow.Edge{{From: "begin", To: "echo"}},
			}
			test.change(&d.Includes[0])
			result, b := r.run(d) // the exit is left open, and ends the run
			if test.says != "" {
				r.want(result, runbundle.Failed, engine.CodeNode, test.says)
				if got := kinds(b); !strings.HasSuffix(got, "node_started node_failed run_failed") {
					t.Errorf("events %s", got)
				}
				return
			}
			r.want(result, runbundle.Completed, "", "")
			if string(result.FinalOutput) != test.want {
				t.Errorf("final output %s, want %s", result.FinalOutput, test.want)
			}
		})
	}
}

// A parent catches nothing that a child does not lead to an exit.
func TestAFailureOfAChildEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, caught := range []bool{false, true} {
		t.Run(fmt.Sprintf("caught %v", caught), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			child := counter()
			child.Nodes[0] = compute("add", gives(nil, errors.New("out of numbers")))
			if caught {
				child.Nodes = append(child.Nodes, compute("sorry", gives("sorry", nil)))
				child.Edges[0] = workflow.Edge{From: "add", Switch: routes("$result.outcome", "ok>size", "failed>sorry")}
				child.Exits = append(child.Exits, workflow.Exit{Name: "blocked", From: "sorry"})
			}
			result, _ := r.run(loops(child))
			if caught {
				r.want(result, runbundle.Completed, "", "")
				if got := string(result.FinalOutput); got != `{"exit":"blocked","output":"sorry"}` {
					t.Errorf("final output %s", got)
				}
				return
			}
			r.want(result, runbundle.Failed, engine.CodeNode, "out of numbers")
		})
	}
}

func TestAWorkflowCanBeMountedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	child := counter()
	input := func(node string) workflow.Func {
		return func(_ context.Context, c *workflow.Context) (any, error) { return workflow.OutputAs[int](c, node) }
	}
	d := &workflow.Definition{
		Name: "greet", Revision: "1", StartAt: "one",
		Nodes: []workflow.Node{compute("one", gives(1, nil)), compute("two", gives(7, nil)), compute("both", func(_ context.Context, c *workflow.Context) (any, error) {
			a, errA := workflow.OutputAs[workflow.ExitResult](c, "a")
			b, errB := workflow.OutputAs[workflow.ExitResult](c, "b")
			return []string{a.Exit + string(a.Output), b.Exit + string(b.Output)}, errors.Join(errA, errB)
		})},
		Includes: []workflow.Include{{Mount: "a", Workflow: child, Input: input("one")}, {Mount: "b", Workflow: child, Input: input("two")}},
		Edges: []workflow.Edge{
			{From: "one", To: "a"}, {From: "a.small", To: "two"}, {From: "two", To: "b"}, {From: "b.large", To: "both"},
		},
	}
	result, _ := r.run(d)
	want := `["small{\"n\":2,\"seen\":0,\"before\":false}","large{\"n\":8,\"seen\":0,\"before\":false}"]`
	if string(result.FinalOutput) != want {
		t.Errorf("final output %s, want %s", result.FinalOutput, want)
	}
}

func TestCleanupOfChildrenComesBeforeThatOfTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var order []string
	note := func(name string) func(context.Context, *workflow.Context) error {
		return func(_ context.Context, c *workflow.Context) error {
			order = append(order, name+" "+string(c.Input))
			return nil
		}
	}
	child, never := counter(), counter()
	child.Cleanup, never.Cleanup = note("child"), note("never")
	d := loops(child)
	d.Cleanup = note("root")
	d.Includes = append(d.Includes, workflow.Include{Mount: "never", Workflow: never})
	d.Nodes = append(d.Nodes, compute("pick", gives(map[string]string{"to": "begin"}, nil)))
	d.StartAt = "pick"
	d.Edges = append(d.Edges, workflow.Edge{From: "pick", Switch: routes("$.to", "begin>begin", "never>never")})
	r.run(d)
	if diff := cmp.Diff([]string{"child 2", "root null"}, order); diff != "" {
		t.Error(diff)
	}
}

// A resume goes on within a child, with what it knew, and tells of an entry that
// the crash kept from the trace.
func TestAComposedRunIsResumedAnywhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		make  func() *workflow.Definition
		every int // each n-th event of the trace
	}{
		{"a loop over a child", func() *workflow.Definition { return loops(counter()) }, 1},
		{"a loop in a loop", func() *workflow.Definition { return workshop(mending(inspection())) }, 7},
	}
	for _, test := range tests {
		whole := newRig(t)
		want, b := whole.run(test.make())
		for n := 2; n < len(b.Events); n += test.every {
			t.Run(fmt.Sprintf("%s after %d events", test.name, n), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				result, again := r.resumeAfter(n, test.make())
				if string(result.FinalOutput) != string(want.FinalOutput) {
					t.Errorf("final output %s, want %s", result.FinalOutput, want.FinalOutput)
				}
				if got := trail(again); got != trail(b) {
					t.Errorf("steps %s, want %s", got, trail(b))
				}
				if diff := cmp.Diff(crossings(b), crossings(again)); diff != "" {
					t.Errorf("crossings (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// crossings are the events of mounts that were entered and left.
func crossings(b *runbundle.Bundle) []string {
	var list []string
	for _, e := range b.Events {
		if e.Type == runbundle.EventIncludeEntered || e.Type == runbundle.EventIncludeExited {
			list = append(list, string(e.Type)+" "+string(e.Payload))
		}
	}
	return list
}

// resumeAfter runs a workflow, and resumes what a crash right after the n-th event
// would have left of it.
func (r *rig) resumeAfter(n int, d *workflow.Definition) (engine.Result, *runbundle.Bundle) {
	r.t.Helper()
	left := newRig(r.t)
	told := r.start.Observe
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		told(e, v)
		if e.Seq == int64(n) {
			left.events = slices.Clone(r.events)
			for name, text := range contents(r.t, filepath.Join(r.options.RunsDir, runID)) {
				path := filepath.Join(left.options.RunsDir, runID, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					r.t.Error(err)
				}
			}
		}
	}
	r.run(d)
	return left.finish(left.resume(d))
}
