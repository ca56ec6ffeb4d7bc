package workflow_test

import (
	"encoding/json"
	"testing"

	"piworkflows/workflow"
)

// entered records the entry of parent's mount, and n attempts in the child.
func entered(s *workflow.Scopes, r *record, n int) {
	add := func(node, output string) {
		r.add(node, output)
		s.Record(len(r.steps)-1, r.steps[len(r.steps)-1])
	}
	add("check", `{"schema":"pi-workflows.include-entry.v1","invocation":1,"input":"given"}`)
	for range n {
		add("check/work", `"worked"`)
	}
}

// A question about a scope reads no step but the one that is asked for, however
// long the run is.
func TestCostOfAProjectionDoesNotGrow(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10_000} {
		var r record
		s := compile(t, parent(child())).Follow(0)
		entered(s, &r, n)
		c := s.Context("check/work", &workflow.Context{View: &r})
		c.View.Output("work")
		c.View.Result("work")
		if got := c.View.Steps(); got != n || r.reads != 0 {
			t.Errorf("%d steps, %d reads, want %d and none", got, r.reads, n)
		}
		if got := c.View.Step(n - 1); got.NodeID != "work" || r.reads != 1 {
			t.Errorf("step %+v by %d reads, want one of work by one", got, r.reads)
		}
	}
}

// A callback may leave something behind that still reads its context.
func TestAContextIsReadWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	var r record
	s := compile(t, parent(child())).Follow(0)
	entered(s, &r, 1)
	old := &record{steps: r.steps}
	c := s.Context("check/work", &workflow.Context{View: old})
	read := make(chan int)
	go func() {
		steps := 0
		for range 1000 {
			c.View.Output("work")
			c.View.Result("good")
			steps = c.View.Steps()
		}
		read <- steps
	}()
	for i := range 1000 {
		s.Record(i+2, workflow.Step{NodeID: "check/work", Outcome: workflow.OK})
	}
	if got := <-read; got != 1 || c.View.Step(0).NodeID != "work" || string(c.Input) != `"given"` {
		t.Errorf("an old context has %d steps and input %s", got, c.Input)
	}
}

// A run that was forced to go on with another definition may stand in a scope
// that it never entered.
func TestAScopeThatWasNotEntered(t *testing.T) {
	t.Parallel()
	s := compile(t, parent(child())).Follow(0)
	c := s.Context("check/work", &workflow.Context{Input: json.RawMessage(`"of the run"`), View: &record{}})
	if string(c.Input) != "null" || c.View.Steps() != 0 {
		t.Errorf("input %s and %d steps, want null and none", c.Input, c.View.Steps())
	}
	s.Record(0, workflow.Step{NodeID: "gone", Outcome: workflow.OK})
	if _, crosses := s.Crossing("gone"); crosses {
		t.Error("a node that is gone crosses nothing")
	}
}
