package testkit_test

import (
	"context"
	"encoding/json"
	"testing"

	"piworkflows/controller"
	"piworkflows/testkit"
	"piworkflows/workflow"
)

// asker asks for a run of the workflow greet and shows how it stands.
func asker() *controller.Definition {
	return define(func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "hello", Workflow: "greet", Input: "Ada"})
		if err != nil {
			return controller.RawResult{}, err
		}
		return controller.Settled(controller.Patch[json.RawMessage]{Conditions: []controller.Condition{
			controller.ConditionUnknown(controller.Ready, "Child", string(child.State)+" "+string(child.Output)),
		}}), nil
	})
}

// greet is never run.
func greet() *workflow.Definition {
	return &workflow.Definition{Name: "greet", Revision: "1", StartAt: "hi", Nodes: []workflow.Node{
		workflow.Compute{ID: "hi", Run: func(context.Context, *workflow.Context) (any, error) { return "hi", nil }},
	}}
}

func TestTheTestSaysHowChildRunsEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end func(c *testkit.Child)
		// says is what the controller saw, attempts how many there were.
		says     string
		attempts int
	}{
		"succeeds":       {func(c *testkit.Child) { c.Succeed("hello") }, `succeeded "hello"`, 1},
		"fails":          {func(c *testkit.Child) { c.Fail("no voice") }, "failed ", 1},
		"asks":           {func(c *testkit.Child) { c.Ask("who?") }, `waiting "who?"`, 1},
		"is interrupted": {func(c *testkit.Child) { c.Interrupt("the host died") }, "pending ", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := testkit.New(t, testkit.Options{Definition: asker(), Workflows: []*workflow.Definition{greet()}})
			r := k.Apply("k", nil)
			if k.Child() != nil {
				t.Error("a child run before it was asked for")
			}
			k.Settle()
			c := k.WantChild()
			var name string
			if c.Input(&name); name != "Ada" || c.Row().RunID != "run-1" {
				t.Errorf("input %q, row %+v", name, c.Row())
			}
			test.end(c)
			k.Settle()
			if ready := r.Ready(); ready.Message != test.says {
				t.Errorf("the controller says %q, want %q", ready.Message, test.says)
			}
			if got := r.Children()[0].Attempt; got != test.attempts {
				t.Errorf("attempt %d, want %d", got, test.attempts)
			}
		})
	}
}

// changer asks for a greeting of whom its spec names, one at a time.
func changer() *controller.Definition {
	return define(func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		says := "waits"
		others, err := p.Workflows.CancelOthers(ctx, string(r.Spec), "somebody else is greeted")
		if err == nil && len(others) == 0 {
			var child controller.ChildRun
			child, err = p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: string(r.Spec), Workflow: "greet"})
			says = string(child.State)
		}
		return controller.Settled(controller.Patch[json.RawMessage]{Conditions: []controller.Condition{
			controller.ConditionUnknown(controller.Ready, "Child", says),
		}}), err
	})
}

// Wherever the process dies, the first run ends before the second one begins.
func TestAChildRunThatIsNotWantedAnyMore(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(t testkit.T, crash *testkit.Crash) {
		k := testkit.New(t, testkit.Options{Definition: changer(), Workflows: []*workflow.Definition{greet()}})
		r := k.Apply("k", "Ada")
		k.Settle()
		first := k.WantChild()
		if reason := first.Cancelled(); reason != "" {
			t.Errorf("cancelled: %s", reason)
		}
		k.Crash(crash)
		r.Apply("Bob")
		k.Settle()
		if reason := first.Cancelled(); reason != "somebody else is greeted" {
			t.Errorf("cancelled: %q", reason)
		}
		r.WantConditions("Ready=unknown Child")
		r.WantNext(controller.ReasonChildCancelling)
		if second := k.Child(); second != nil {
			t.Errorf("%s runs beside the first", second.Row().RunID)
		}
		first.Fail("stopped")
		k.Settle()
		k.WantChild().Succeed("hello")
		k.Settle()
		if says := r.Ready().Message; says != "succeeded" || len(r.Children()) != 2 {
			t.Errorf("the controller says %q, children %+v", says, r.Children())
		}
	})
}

func TestAWorkflowThatTheKitDoesNotKnow(t *testing.T) {
	t.Parallel()
	k := testkit.New(t, testkit.Options{Definition: asker()})
	r := k.Apply("k", nil)
	k.Pass()
	r.WantFailing(1, "greet")
}
