package gitmerge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/git"
	"piworkflows/workflow"
)

var (
	testHead      = strings.Repeat("a", 40)
	testOnto      = strings.Repeat("b", 40)
	testCandidate = strings.Repeat("c", 40)
	testInput     = VerifyInput{
		Owner: "u", Repository: "/r", Branch: "feature", Target: "main", Head: testHead, Onto: testOnto,
		Check: []string{"true"}, CheckTimeout: Duration(DefaultCheckTimeout),
	}
)

// seen is an observation in which nothing was done yet, with changes.
func seen(changes ...func(*observation)) observation {
	o := observation{Head: testHead, Target: testOnto, Worktree: treeAbsent}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func merged(o *observation)   { o.Merge = &mergeResult{Candidate: testCandidate, Tree: "t"} }
func prepared(o *observation) { merged(o); o.Worktree = treeReady }

func checked(code int) func(*observation) {
	return func(o *observation) {
		prepared(o)
		o.Check = &checkResult{Outcome: workflow.OK, Candidate: testCandidate, ExitCode: &code, Output: "what it wrote"}
	}
}

func checkEnded(outcome workflow.Outcome) func(*observation) {
	return func(o *observation) {
		prepared(o)
		o.Check = &checkResult{Outcome: outcome, Output: "why"}
	}
}

func troubled(branch string, outcome workflow.Outcome) func(*observation) {
	return func(o *observation) {
		o.Trouble = &branchOutcome{Branch: branch, Outcome: outcome, Error: "no space left"}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		o           observation
		route, code string
	}{
		{"nothing done", seen(), routeMerge, ""},
		{"merge failed", seen(troubled(nodeMerge, workflow.Failed)), routeMerge, ""},
		{"conflict", seen(func(o *observation) { o.Merge = &mergeResult{Conflicts: []string{"story"}} }), routeBlocked, ReasonConflict},
		{"unrelated", seen(func(o *observation) { o.Merge = &mergeResult{Unrelated: true} }), routeBlocked, ReasonUnrelated},
		{"merged", seen(merged), routePrepare, ""},
		{"worktree unusable", seen(merged, func(o *observation) { o.Worktree = treeUnusable }), routePrepare, ""},
		{"worktree found ready", seen(prepared, troubled(nodePrepare, workflow.TimedOut)), routeCheck, ""},
		{"prepared", seen(prepared), routeCheck, ""},
		{"passed", seen(checked(0)), routeComplete, ""},
		{"passed, worktree used", seen(checked(0), func(o *observation) { o.Worktree = treeUnusable }), routeComplete, ""},
		{"failed", seen(checked(3)), routeBlocked, ReasonCheckFailed},
		{"killed", seen(checked(0), func(o *observation) { o.Check.ExitCode, o.Check.Signal = nil, "SIGKILL" }), routeBlocked, ReasonCheckFailed},
		{"not started", seen(checkEnded(workflow.Failed)), routeBlocked, ReasonCheckFailed},
		{"timed out", seen(checkEnded(workflow.TimedOut)), routeBlocked, ReasonCheckTimedOut},
		{"passed by another candidate", seen(checked(0), func(o *observation) { o.Check.Candidate = testHead }), routeBlocked, ReasonCheckFailed},
		{"head moved before", seen(func(o *observation) { o.Head = testOnto }), routeBlocked, ReasonHeadChanged},
		{"head moved by its check", seen(checked(0), func(o *observation) { o.Head = testOnto }), routeBlocked, ReasonHeadChanged},
		{"head moved by a failing check", seen(checked(1), func(o *observation) { o.Head = testOnto }), routeBlocked, ReasonHeadChanged},
		{"branch gone", seen(func(o *observation) { o.Head = "" }), routeBlocked, ReasonHeadChanged},
		{"target moved", seen(checked(0), func(o *observation) { o.Target = testHead }), routeBlocked, ReasonTargetChanged},
		{"target gone", seen(func(o *observation) { o.Target = "" }), routeBlocked, ReasonTargetChanged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := choose(testInput, test.o)
			if d.Route != test.route || d.Blocker != test.code {
				t.Errorf("route %s, code %s; want %s, %s", d.Route, d.Blocker, test.route, test.code)
			}
			if err := d.Check(loop.Choices(), routeBlocked); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBlockedNamesItsEvidence(t *testing.T) {
	t.Parallel()
	if d := choose(testInput, seen(checked(3))); !strings.Contains(d.Reason, "code 3") || !strings.Contains(d.Reason, testCandidate) ||
		cmp.Diff([]string{"what it wrote"}, d.Evidence) != "" {
		t.Errorf("failed check: %+v", d)
	}
	conflict := conflicted(git.Merge{Conflicts: strings.Split(strings.Repeat("f ", 25), " ")[:25]})
	o := seen(func(o *observation) { o.Merge = &conflict })
	if d := choose(testInput, o); !strings.Contains(d.Reason, "f, f") || !strings.Contains(d.Reason, "and 5 more") {
		t.Errorf("conflict: %s", d.Reason)
	}
}

// recordView is a record of steps in memory.
type recordView struct{ steps []workflow.Step }

func (v *recordView) Output(node string) (json.RawMessage, bool) {
	r, ok := v.Result(node)
	return r.Output, ok && r.Outcome == workflow.OK
}

func (v *recordView) Result(node string) (workflow.Result, bool) {
	for _, s := range slices.Backward(v.steps) {
		if s.NodeID == node {
			return workflow.Result{NodeID: node, Outcome: s.Outcome, Output: s.Output, Error: s.Error}, true
		}
	}
	return workflow.Result{}, false
}

func (v *recordView) Steps() int               { return len(v.steps) }
func (v *recordView) Step(i int) workflow.Step { return v.steps[i] }

func (v *recordView) Updates() []workflow.Published { return nil }

// add records an attempt; output is written as JSON.
func (v *recordView) add(t *testing.T, node string, outcome workflow.Outcome, output any) {
	t.Helper()
	step := workflow.Step{NodeID: node, Outcome: outcome, Error: fmt.Sprint(outcome)}
	if outcome == workflow.OK {
		raw, err := json.Marshal(output)
		if err != nil {
			t.Fatal(err)
		}
		step.Output = raw
	}
	v.steps = append(v.steps, step)
}

// turn records an observation and the decision about it, and returns that.
func (v *recordView) turn(t *testing.T, o observation) decision {
	t.Helper()
	v.add(t, nodeObserve, workflow.OK, o)
	input, err := json.Marshal(testInput)
	if err != nil {
		t.Fatal(err)
	}
	out, err := decide(t.Context(), &workflow.Context{Input: input, View: v})
	if err != nil {
		t.Fatal(err)
	}
	d, ok := out.(decision)
	if !ok {
		t.Fatalf("decide returned %T", out)
	}
	v.add(t, nodeDecide, workflow.OK, d)
	return d
}

func TestDecideStopsWithoutProgress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		turns []observation
		want  []string // routes, or the code of a blocked one
	}{
		{"straight", []observation{seen(), seen(merged), seen(prepared), seen(checked(0))},
			[]string{routeMerge, routePrepare, routeCheck, routeComplete}},
		{"a failure is new once", []observation{
			seen(), seen(merged), seen(merged, troubled(nodePrepare, workflow.Failed)), seen(merged, troubled(nodePrepare, workflow.Failed)),
		}, []string{routeMerge, routePrepare, routePrepare, ReasonNoProgress}},
		{"another failure is new", []observation{
			seen(troubled(nodeMerge, workflow.Failed)), seen(troubled(nodeMerge, workflow.TimedOut)), seen(troubled(nodeMerge, workflow.Failed)),
		}, []string{routeMerge, routeMerge, ReasonNoProgress}},
		{"in circles", []observation{seen(merged), seen(prepared), seen(merged)},
			[]string{routePrepare, routeCheck, ReasonNoProgress}},
		{"texts and paths are no progress", []observation{
			seen(merged, func(o *observation) { o.Path = "/1"; o.Trouble = &branchOutcome{nodePrepare, workflow.Failed, "1"} }),
			seen(merged, func(o *observation) { o.Path = "/2"; o.Trouble = &branchOutcome{nodePrepare, workflow.Failed, "2"} }),
		}, []string{routePrepare, ReasonNoProgress}},
		{"a terminal route may come again", []observation{seen(checked(0)), seen(checked(0))}, []string{routeComplete, routeComplete}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var record recordView
			var got []string
			for _, o := range test.turns {
				d := record.turn(t, o)
				if d.Route == routeBlocked {
					d.Route = d.Blocker
				}
				got = append(got, d.Route)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoProgressNamesTheTrouble(t *testing.T) {
	t.Parallel()
	var record recordView
	o := seen(merged, troubled(nodePrepare, workflow.Failed))
	record.turn(t, o)
	d := record.turn(t, o)
	if !strings.Contains(d.Reason, "prepare failed") || cmp.Diff([]string{"no space left"}, d.Evidence) != "" || d.Fingerprint == "" {
		t.Errorf("decision %+v", d)
	}
}

// A route grants nothing: who completes without a proof has a defect, and the
// run fails.
func TestCompleteAsksForTheProof(t *testing.T) {
	t.Parallel()
	input, err := json.Marshal(testInput)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]observation{
		"no merge":          seen(),
		"no check":          seen(prepared),
		"failed":            seen(checked(1)),
		"timed out":         seen(checkEnded(workflow.TimedOut)),
		"another candidate": seen(checked(0), func(o *observation) { o.Check.Candidate = testHead }),
		"head moved":        seen(checked(0), func(o *observation) { o.Head = testOnto }),
		"target moved":      seen(checked(0), func(o *observation) { o.Target = "" }),
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var record recordView
			record.add(t, nodeObserve, workflow.OK, o)
			record.add(t, nodeDecide, workflow.OK, route(routeComplete, "it looks good"))
			out, err := verifier{}.complete(t.Context(), &workflow.Context{Input: input, View: &record})
			if err == nil || !strings.Contains(err.Error(), "not proven") {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

func TestBranchResultTellsTheLastStep(t *testing.T) {
	t.Parallel()
	var record recordView
	record.add(t, nodeMerge, workflow.OK, nil)
	record.add(t, nodePrepare, workflow.TimedOut, nil)
	got, err := branchResult(t.Context(), &workflow.Context{View: &record})
	want := branchOutcome{Branch: nodePrepare, Outcome: workflow.TimedOut, Error: "timed_out"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
