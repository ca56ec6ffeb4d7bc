package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// inspection looks twice at the number of faults that it is given, in a loop of
// its own, and tells at its exit how many steps of its own it saw by then.
func inspection() *workflow.Definition {
	loop := workflow.MustControlLoop(workflow.Loop{Decide: "decide", ReturnTo: "look", Routes: []workflow.Route{
		{Name: "again", To: "wait", Returns: []string{"wait"}},
		{Name: "clean", To: "clean", Terminal: true},
		{Name: "faulty", To: "faulty", Terminal: true},
	}})
	return &workflow.Definition{
		Name: "inspection", Revision: "1", StartAt: "look", MaxSteps: 6,
		Nodes: []workflow.Node{
			compute("look", func(_ context.Context, c *workflow.Context) (any, error) { return c.Input, nil }),
			compute("decide", func(_ context.Context, c *workflow.Context) (any, error) {
				faults, err := workflow.OutputAs[int](c, "look")
				_, waited := c.View.Output("wait")
				return chosen(!waited, "again", faults == 0, "clean", true, "faulty"), err
			}),
			compute("wait", gives(nil, nil)), compute("clean", seenSteps), compute("faulty", seenSteps),
		},
		Edges: append([]workflow.Edge{{From: "look", To: "decide"}}, loop.Edges()...),
		Exits: []workflow.Exit{{Name: "clean", From: "clean"}, {Name: "faulty", From: "faulty"}},
	}
}

// seenSteps returns the names of the steps that a callback sees.
func seenSteps(_ context.Context, c *workflow.Context) (any, error) {
	var names []string
	for i := range c.View.Steps() {
		names = append(names, c.View.Step(i).NodeID)
	}
	return strings.Join(names, " "), nil
}

// chosen is a decision for the first route whose condition holds.
func chosen(pairs ...any) workflow.DecisionOutput {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == true {
			return workflow.DecisionOutput{Route: fmt.Sprint(pairs[i+1]), Reason: "it is so"}
		}
	}
	return workflow.DecisionOutput{}
}

// mending repairs one fault after the other, and lets the inspection tell when
// none is left.
func mending(inspection *workflow.Definition) *workflow.Definition {
	exits := []string{"inspect.clean", "inspect.faulty"}
	loop := workflow.MustControlLoop(workflow.Loop{Decide: "decide", ReturnTo: "observe", Routes: []workflow.Route{
		{Name: "inspect", To: "inspect", Returns: exits},
		{Name: "reinspect", To: "inspect", Returns: exits},
		{Name: "repair", To: "repair", Returns: []string{"repair"}},
		{Name: "complete", To: "complete", Terminal: true},
	}})
	return &workflow.Definition{
		Name: "mending", Revision: "1", StartAt: "observe",
		Nodes: []workflow.Node{
			compute("observe", observeFaults), compute("decide", decideFaults), compute("repair", gives(nil, nil)), compute("complete", seenSteps),
		},
		Includes: []workflow.Include{{Mount: "inspect", Workflow: inspection, Input: func(_ context.Context, c *workflow.Context) (any, error) {
			s, err := workflow.OutputAs[faults](c, "observe")
			return s.Left, err
		}}},
		Edges: append([]workflow.Edge{{From: "observe", To: "decide"}}, loop.Edges()...),
		Exits: []workflow.Exit{{Name: "mended", From: "complete"}},
	}
}

// faults is what the loop of mending observes.
type faults struct {
	Left int `json:"left"`
	// Last is the node or mount of the step before, Exit how that was left.
	Last string `json:"last"`
	Exit string `json:"exit"`
}

func observeFaults(_ context.Context, c *workflow.Context) (any, error) {
	left, err := workflow.InputAs[int](c)
	s := faults{Left: left}
	for i := range c.View.Steps() {
		if s.Last = c.View.Step(i).NodeID; s.Last == "repair" {
			s.Left--
		}
	}
	if s.Last == "inspect" {
		result, errExit := workflow.OutputAs[workflow.ExitResult](c, "inspect")
		s.Exit, err = result.Exit, errors.Join(err, errExit)
	}
	return s, err
}

func decideFaults(_ context.Context, c *workflow.Context) (any, error) {
	s, err := workflow.OutputAs[faults](c, "observe")
	return chosen(s.Exit == "clean", "complete", s.Exit == "faulty", "repair", s.Last == "repair", "reinspect", true, "inspect"), err
}

// workshop mends two things, one after the other: the mount in it is entered
// twice, and the one in that three times.
func workshop(mending *workflow.Definition) *workflow.Definition {
	return &workflow.Definition{
		Name: "greet", Revision: "1", StartAt: "begin",
		Nodes: []workflow.Node{
			compute("begin", gives(1, nil)), compute("next", func(_ context.Context, c *workflow.Context) (any, error) {
				return chosen(c.View.Steps() < 4, "more", true, "enough"), nil
			}), compute("end", seenSteps),
		},
		Includes: []workflow.Include{{Mount: "job", Workflow: mending, Input: func(_ context.Context, c *workflow.Context) (any, error) {
			_, again := c.View.Output("job")
			return chosenInt(again, 0, 1), nil
		}}},
		Edges: []workflow.Edge{
			{From: "begin", To: "job"}, {From: "job.mended", To: "next"}, {From: "next", Switch: routes("$.route", "more>job", "enough>end")},
		},
	}
}

func chosenInt(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

func TestALoopInALoopStartsEachTimeWithNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(workshop(mending(inspection())))
	r.want(result, runbundle.Completed, "", "")
	if got := string(result.FinalOutput); got != `"begin job next job next"` {
		t.Errorf("the root saw %s", got)
	}
	var entered, left []string
	for _, e := range b.Events {
		p, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case runbundle.IncludeEntered:
			entered = append(entered, fmt.Sprint(strings.Join(p.MountPath, "/"), " ", p.Invocation))
		case runbundle.IncludeExited:
			left = append(left, fmt.Sprint(strings.Join(p.MountPath, "/"), " ", p.Invocation, " ", string(p.Output)))
		}
	}
	if diff := cmp.Diff([]string{"job 1", "job/inspect 1", "job/inspect 2", "job 2", "job/inspect 3"}, entered); diff != "" {
		t.Errorf("entered (-want +got):\n%s", diff)
	}
	const looks = `"look decide wait look decide"`
	if diff := cmp.Diff([]string{
		`job/inspect 1 {"exit":"faulty","output":` + looks + `}`,
		`job/inspect 2 {"exit":"clean","output":` + looks + `}`,
		`job 1 {"exit":"mended","output":"observe decide inspect observe decide repair observe decide inspect observe decide"}`,
		`job/inspect 3 {"exit":"clean","output":` + looks + `}`,
		`job 2 {"exit":"mended","output":"observe decide inspect observe decide"}`,
	}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A limit counts what happens within since the latest entry, and the outermost
// that is used up is named, before anything of the attempt is recorded.
func TestLimitsOfNestedMounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		root, job, inspect int
		says               string // of the error; empty completes
		last               string // the last step
	}{
		{"just enough", 37, 22, 6, "", "end"},
		{"the innermost", 37, 22, 5, "workflow inspection exceeded maxSteps 5 since it was entered as job/inspect", "job/inspect/decide"},
		{"the one around it, by what is within", 37, 7, 6, "workflow mending exceeded maxSteps 7 since it was entered as job", "job/inspect/decide"},
		{"both, and the outer is named", 37, 7, 5, "workflow mending exceeded maxSteps 7 since it was entered as job", "job/inspect/decide"},
		{"all three", 8, 7, 5, "workflow greet exceeded maxSteps 8: ", "job/inspect/decide"},
		{"the run in the second entry", 36, 22, 6, "workflow greet exceeded maxSteps 36: ", "next"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			inner := inspection()
			middle := mending(inner)
			d := workshop(middle)
			d.MaxSteps, middle.MaxSteps, inner.MaxSteps = test.root, test.job, test.inspect
			result, b := r.run(d)
			if last := b.State.Steps[len(b.State.Steps)-1].NodeID; last != test.last {
				t.Errorf("the last step is %s, want %s", last, test.last)
			}
			if test.says == "" {
				r.want(result, runbundle.Completed, "", "")
				return
			}
			r.want(result, runbundle.Failed, engine.CodeMaxSteps, test.says)
			if got := kinds(b); !strings.HasSuffix(got, "node_finished run_failed") {
				t.Errorf("an attempt was begun: %s", got)
			}
		})
	}
}

// The answer is the input of the run; what the child was given stays its own.
func TestACheckpointWithinAChild(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inner := inspection()
	inner.Nodes[2] = workflow.Checkpoint{ID: "wait"}
	d := workshop(mending(inner))
	d.Nodes[2] = compute("end", func(_ context.Context, c *workflow.Context) (any, error) { return c.Input, nil })
	result, _ := r.run(d)
	for i := range 3 { // one wait for each inspection
		r.want(result, runbundle.Waiting, "", "")
		if result.WaitingOn != "job/inspect/wait" {
			t.Fatalf("waiting on %s", result.WaitingOn)
		}
		parent := result.RunID
		r.events = nil
		run, err := engine.New(r.options).Continue(t.Context(), r.graph(d), engine.ContinueOptions{
			Parent: parent, RunID: fmt.Sprint(continuationID, i), Answer: raw(strconv.Itoa(i)), Observe: r.start.Observe,
		})
		result, _ = r.finish(r.took(run, err))
	}
	r.want(result, runbundle.Completed, "", "")
	if got := string(result.FinalOutput); got != `2` {
		t.Errorf("the root saw the answer %s", got)
	}
	b, err := runbundle.Read(filepath.Join(r.options.RunsDir, fmt.Sprint(continuationID, 2)))
	if err != nil {
		t.Fatal(err)
	}
	whole := newRig(t)
	_, want := whole.run(workshop(mending(inspection())))
	if got := trail(b); got != trail(want) {
		t.Errorf("steps %s, want %s", got, trail(want))
	}
}

// Nothing routes a cancellation, and no exit is left by it. It comes in the second
// inspection, of which the workflow around it sees nothing, the first one's result
// neither.
func TestACancelledChildEndsTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working := make(chan struct{})
	inner := inspection()
	second := false
	inner.Nodes[2] = compute("wait", func(ctx context.Context, c *workflow.Context) (any, error) {
		if second {
			return waits(working)(ctx, c)
		}
		second = true
		return nil, nil
	})
	inner.Edges = append(inner.Edges[:2:2], workflow.Edge{From: "wait", Switch: routes("$result.outcome", "ok>look", "cancelled>faulty")})
	var cleaned []string
	middle := mending(inner)
	d := workshop(middle)
	for _, def := range []*workflow.Definition{d, middle, inner} {
		def.Cleanup = func(_ context.Context, c *workflow.Context) error {
			outputs := []string{def.Name, string(c.Input)}
			for _, name := range []string{"look", "inspect", "job", "begin"} {
				output, _ := c.View.Output(name)
				outputs = append(outputs, string(output))
			}
			cleaned = append(cleaned, strings.Join(outputs, ","))
			return nil
		}
	}
	run := r.begin(d)
	<-working
	run.Cancel()
	result, b := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "cancelled")
	if got := kinds(b); strings.Count(got, "include_exited") != 1 || !strings.HasSuffix(got, "node_failed run_cancelled") {
		t.Errorf("events %s", got)
	}
	if diff := cmp.Diff([]string{"inspection,0,0,,,", "mending,1,,,,", "greet,null,,,,1"}, cleaned); diff != "" {
		t.Errorf("cleanups, each with what its workflow sees (-want +got):\n%s", diff)
	}
}

// A run does not go on with a child that changed, in its revision or its shape.
func TestAChildThatChangedIsNotResumed(t *testing.T) {
	t.Parallel()
	revised, reshaped := inspection(), inspection()
	revised.Revision = "2"
	reshaped.MaxSteps++
	for _, test := range []struct {
		name  string
		child *workflow.Definition
		want  []string
	}{{"revision", revised, []string{"included sources"}}, {"shape", reshaped, []string{"digest"}}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.at(runbundle.EventIncludeEntered, 2, (*engine.Run).Park)
			if result, _ := r.finish(r.begin(workshop(mending(inspection())))); !result.Parked {
				t.Fatalf("not parked: %+v", result)
			}
			o := engine.ResumeOptions{RunID: runID, Observe: r.start.Observe}
			_, err := engine.New(r.options).Resume(t.Context(), r.graph(workshop(mending(test.child))), o)
			changed := wantErr[*engine.SourceChangedError](t, err)
			var got []string
			for _, d := range changed.Differences {
				got = append(got, d.What)
				if d.Recorded == d.Current {
					t.Errorf("%s: both are %s", d.What, d.Current)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			o.Force = true
			result, _ := r.finish(r.took(engine.New(r.options).Resume(t.Context(), r.graph(workshop(mending(test.child))), o)))
			r.want(result, runbundle.Completed, "", "")
		})
	}
}

// A run that stands in a mount that the definition has under another name does not
// go on, even if it is forced.
func TestAChildThatMovedIsNotResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.at(runbundle.EventIncludeEntered, 1, (*engine.Run).Park)
	r.finish(r.begin(loops(counter())))
	d := loops(counter())
	d.Includes[0].Mount = "elsewhere"
	d.Edges[0].To, d.Edges[1].From, d.Edges[2].To, d.Edges[3].From = "elsewhere", "elsewhere.small", "elsewhere", "elsewhere.large"
	_, err := engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{RunID: runID, Force: true, Observe: r.start.Observe})
	gone := wantErr[*engine.NodeGoneError](t, err)
	if gone.Node != "count" {
		t.Errorf("the node that is gone is %s", gone.Node)
	}
}
