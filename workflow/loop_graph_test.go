package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

// repair is a loop in one graph: build may fail and has a collector, verify is
// the entry of an inner loop, and both terminal routes end the run.
func repair() *workflow.Definition {
	outer := workflow.MustControlLoop(workflow.Loop{
		Decide: "decide", ReturnTo: "observe",
		Routes: []workflow.Route{
			{Name: "build", To: "build", Returns: []string{"collect"}},
			{Name: "verify", To: "check", Returns: []string{"verified"}},
			{Name: "complete", To: "completed", Terminal: true},
			{Name: "blocked", To: "blocked", Terminal: true},
		},
	})
	inner := workflow.MustControlLoop(workflow.Loop{
		Decide: "recheck", ReturnTo: "check",
		Routes: []workflow.Route{
			{Name: "mend", To: "mend", Returns: []string{"mend"}},
			{Name: "done", To: "verified", Terminal: true},
		},
	})
	d := &workflow.Definition{
		Name: "repair", Revision: "1", StartAt: "observe",
		Nodes: computes("observe", "decide", "build", "collect", "check", "recheck", "mend", "verified", "completed", "blocked"),
		Edges: []workflow.Edge{
			{From: "observe", To: "decide"},
			choice("build", "$result.outcome", "ok", "collect", "failed", "collect", "timed_out", "collect", "cancelled", "collect"),
			{From: "check", To: "recheck"},
		},
	}
	d.Edges = append(append(d.Edges, outer.Edges()...), inner.Edges()...)
	return d
}

// repairByHand is the same without the helper.
func repairByHand() *workflow.Definition {
	d := repair()
	d.Edges = append(d.Edges[:3:3],
		choice("decide", "$.route", "build", "build", "verify", "check", "complete", "completed", "blocked", "blocked"),
		workflow.Edge{From: "collect", To: "observe"},
		workflow.Edge{From: "verified", To: "observe"},
		choice("recheck", "$.route", "mend", "mend", "done", "verified"),
		workflow.Edge{From: "mend", To: "check"},
	)
	return d
}

func TestControlLoopLeavesNoMark(t *testing.T) {
	t.Parallel()
	helped, byHand := compile(t, repair()), compile(t, repairByHand())
	if diff := cmp.Diff(string(byHand.Snapshot()), string(helped.Snapshot())); diff != "" {
		t.Errorf("snapshot (-by hand +helped):\n%s", diff)
	}
	if helped.Digest() != byHand.Digest() {
		t.Error("digests differ")
	}
}

// The helper cannot know the graph, so the graph's own checks must still hold.
func TestGraphChecksFollowTheExpansion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(d *workflow.Definition)
		want   []flaw
	}{
		"unknown branch": {
			func(d *workflow.Definition) { d.Nodes[2] = compute("bild") },
			[]flaw{
				{"edges[1].from", `"build"`},
				{"edges[3].switch.cases.build", `"build"`},
				{"nodes.bild", "no path"},
			},
		},
		"unknown return": {
			func(d *workflow.Definition) { d.Nodes[7] = compute("verifed") },
			[]flaw{
				{"edges[5].from", `"verified"`},
				{"edges[6].switch.cases.done", `"verified"`},
				{"nodes.verifed", "no path"},
			},
		},
		"exit of no mount": {
			func(d *workflow.Definition) { d.Edges[5].From = "check.ready" },
			[]flaw{{"edges[5].from", `"check.ready"`}},
		},
		"return with an edge of its own": {
			func(d *workflow.Definition) {
				d.Edges = append(d.Edges, workflow.Edge{From: "collect", To: "blocked"})
			},
			[]flaw{{"edges[8].from", `"collect" has an outgoing edge already, edges[4]`}},
		},
		"branch outside the loop": {
			func(d *workflow.Definition) { d.Nodes = append(d.Nodes, compute("publish")) },
			[]flaw{{"nodes.publish", "no path"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := repair()
			test.change(d)
			_, err := workflow.Compile(d)
			wantFlaws(t, invalid(t, err).Problems, test.want)
		})
	}
}

// follow asks the graph where attempts lead, without running anything. Each
// scripted result is the next attempt of its node; other attempts are ok.
func follow(t *testing.T, g *workflow.Graph, script ...workflow.Result) (path []string, last string) {
	t.Helper()
	node := g.StartAt()
	for range g.MaxSteps() {
		path = append(path, node)
		r := ok(node, `{}`)
		if len(script) > 0 && script[0].NodeID == node {
			r, script = script[0], script[1:]
		}
		next, done, err := g.Route(r)
		if done || err != nil {
			return path, routed(next, done, err)
		}
		node = next
	}
	return path, "still running"
}

func route(node, name string) workflow.Result {
	return ok(node, `{"route":"`+name+`","reason":"r"}`)
}

func ended(node string, o workflow.Outcome) workflow.Result {
	return workflow.Result{NodeID: node, Outcome: o}
}

func TestLoopRunsItsRoutes(t *testing.T) {
	t.Parallel()
	complete := route("decide", "complete")
	tests := map[string]struct {
		script []workflow.Result
		path   []string
		last   string
	}{
		"complete":  {[]workflow.Result{complete}, []string{"observe", "decide", "completed"}, "done"},
		"blocked":   {[]workflow.Result{route("decide", "blocked")}, []string{"observe", "decide", "blocked"}, "done"},
		"ok return": {[]workflow.Result{route("decide", "build"), complete}, []string{"observe", "decide", "build", "collect", "observe", "decide", "completed"}, "done"},
		"failure returns": {
			[]workflow.Result{route("decide", "build"), ended("build", workflow.Failed), complete},
			[]string{"observe", "decide", "build", "collect", "observe", "decide", "completed"}, "done",
		},
		"timeout returns": {
			[]workflow.Result{route("decide", "build"), ended("build", workflow.TimedOut), complete},
			[]string{"observe", "decide", "build", "collect", "observe", "decide", "completed"}, "done",
		},
		"cancellation ends, whatever the cases say": {
			[]workflow.Result{route("decide", "build"), ended("build", workflow.Cancelled)},
			[]string{"observe", "decide", "build"}, "unrouted",
		},
		"a failed collector ends": {
			[]workflow.Result{route("decide", "build"), ended("collect", workflow.Failed)},
			[]string{"observe", "decide", "build", "collect"}, "unrouted",
		},
		"a failed decision ends": {
			[]workflow.Result{ended("decide", workflow.TimedOut)},
			[]string{"observe", "decide"}, "unrouted",
		},
		"an unknown route is no branch": {
			[]workflow.Result{route("decide", "publish")},
			[]string{"observe", "decide"}, "refused",
		},
		"a nested loop returns to its own observation, then to the outer one": {
			[]workflow.Result{route("decide", "verify"), route("recheck", "mend"), route("recheck", "done"), complete},
			[]string{"observe", "decide", "check", "recheck", "mend", "check", "recheck", "verified", "observe", "decide", "completed"}, "done",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, last := follow(t, compile(t, repair()), test.script...)
			if diff := cmp.Diff(test.path, path); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			if last != test.last {
				t.Errorf("the run ends %s, want %s", last, test.last)
			}
		})
	}
}
