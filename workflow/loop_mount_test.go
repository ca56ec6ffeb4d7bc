package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

// verification is a loop that is included: it mends what it can and leaves by one
// of two exits.
func verification() *workflow.Definition {
	loop := workflow.MustControlLoop(workflow.Loop{
		Decide: "decide", ReturnTo: "check",
		Routes: []workflow.Route{
			{Name: "mend", To: "mend", Returns: []string{"mend"}},
			{Name: "ready", To: "ready", Terminal: true},
			{Name: "blocked", To: "blocked", Terminal: true},
		},
	})
	return &workflow.Definition{
		Name: "verification", Revision: "1", StartAt: "check", MaxSteps: 20,
		Nodes: computes("check", "decide", "mend", "ready", "blocked"),
		Edges: append([]workflow.Edge{{From: "check", To: "decide"}}, loop.Edges()...),
		Exits: []workflow.Exit{{Name: "ready", From: "ready"}, {Name: "blocked", From: "blocked"}},
	}
}

// outer is a loop two of whose routes are a mount. The names of its nodes are
// those of the loop within.
func outer() *workflow.Definition {
	exits := []string{"verify.ready", "verify.blocked"}
	loop := workflow.MustControlLoop(workflow.Loop{
		Decide: "decide", ReturnTo: "observe",
		Routes: []workflow.Route{
			{Name: "verify", To: "verify", Returns: exits},
			{Name: "recheck", To: "verify", Returns: exits},
			{Name: "build", To: "build", Returns: []string{"build"}},
			{Name: "complete", To: "complete", Terminal: true},
		},
	})
	return &workflow.Definition{
		Name: "outer", Revision: "1", StartAt: "observe", Nodes: computes("observe", "decide", "build", "complete"),
		Includes: []workflow.Include{{Mount: "verify", Workflow: verification()}},
		Edges:    append([]workflow.Edge{{From: "observe", To: "decide"}}, loop.Edges()...),
	}
}

func TestLoopOverAMountLeavesNoMark(t *testing.T) {
	t.Parallel()
	byHand := outer()
	byHand.Edges = []workflow.Edge{
		{From: "observe", To: "decide"},
		choice("decide", "$.route", "verify", "verify", "recheck", "verify", "build", "build", "complete", "complete"),
		{From: "verify.ready", To: "observe"},
		{From: "verify.blocked", To: "observe"},
		{From: "build", To: "observe"},
	}
	if diff := cmp.Diff(string(compile(t, byHand).Snapshot()), string(compile(t, outer()).Snapshot())); diff != "" {
		t.Errorf("snapshot (-by hand +helped):\n%s", diff)
	}
}

func TestLoopOverAMountMustKnowItsExits(t *testing.T) {
	t.Parallel()
	d := outer()
	d.Includes[0].Workflow.Exits[1].Name = "stuck"
	_, err := workflow.Compile(d)
	wantFlaws(t, invalid(t, err).Problems, []flaw{{"edges[3].from", `has no exit "blocked"`}})
}

func TestNestedLoopsReturnByExits(t *testing.T) {
	t.Parallel()
	path, last := follow(t, compile(t, outer()),
		route("decide", "verify"), route("verify/decide", "mend"), route("verify/decide", "blocked"),
		route("decide", "build"), route("decide", "recheck"), route("verify/decide", "ready"), route("decide", "complete"))
	want := []string{
		"observe", "decide",
		"verify", "verify/check", "verify/decide", "verify/mend", "verify/check", "verify/decide", "verify/blocked", "verify/__piw_exit_blocked",
		"observe", "decide", "build", "observe", "decide",
		"verify", "verify/check", "verify/decide", "verify/ready", "verify/__piw_exit_ready",
		"observe", "decide", "complete",
	}
	if diff := cmp.Diff(want, path); diff != "" || last != "done" {
		t.Errorf("path (-want +got):\n%s\nthe run ends %s", diff, last)
	}
	path, last = follow(t, compile(t, outer()), route("decide", "verify"), ended("verify/mend", workflow.Failed),
		route("verify/decide", "mend"))
	if last != "refused" {
		t.Errorf("an unknown route within: %s after %s", last, path)
	}
}

// A switch on an exit reads what the parent sees of the child. A failure of the
// exit itself is not the parent's to catch, whatever its cases say.
func TestSwitchOnAnExit(t *testing.T) {
	t.Parallel()
	const exit = "check/__piw_exit_ready"
	left := ok(exit, `{"exit":"ready","output":{"size":"small"}}`)
	for _, test := range []struct {
		name, on string
		result   workflow.Result
		want     string
	}{
		{"the exit", "$.exit", left, "end"},
		{"the output", "$.output.size", left, "begin"},
		{"the result", "$result.outcome", left, "end"},
		{"a validator that failed", "$result.outcome", ended(exit, workflow.Failed), "unrouted"},
		{"a validator that took too long", "$result.outcome", ended(exit, workflow.TimedOut), "unrouted"},
		{"no failure of the child itself", "$result.outcome", ended("check/good", workflow.Failed), "unrouted"},
	} {
		d := parent(child())
		d.Edges[1] = choice("check.ready", test.on, "ready", "end", "small", "begin", "ok", "end", "failed", "begin", "timed_out", "begin")
		if got := routed(compile(t, d).Route(test.result)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
