package testkit

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// scheduler pins the workflows of a kit, and names runs in the order in which
// they are asked for.
type scheduler struct {
	known map[string]controller.WorkflowIdentity
	runs  *int
}

func newScheduler(list []*workflow.Definition) (scheduler, error) {
	s := scheduler{known: map[string]controller.WorkflowIdentity{}, runs: new(int)}
	for _, d := range list {
		g, err := workflow.Compile(d)
		if err != nil {
			return s, err
		}
		source, err := json.Marshal(g.Source())
		if err != nil {
			return s, fmt.Errorf("source of workflow %s: %w", d.Name, err)
		}
		s.known[d.Name] = controller.WorkflowIdentity{Source: source, Digest: g.Digest()}
	}
	return s, nil
}

// Resolve implements controller.Scheduler.
func (s scheduler) Resolve(_ context.Context, name string) (controller.WorkflowIdentity, error) {
	if id, ok := s.known[name]; ok {
		return id, nil
	}
	return controller.WorkflowIdentity{}, &controller.UnknownWorkflowError{Name: name}
}

// NewRunID implements controller.Scheduler.
func (s scheduler) NewRunID(string) string {
	*s.runs++
	return fmt.Sprintf("run-%d", *s.runs)
}

// Child is one attempt of a child run. The test says how it ends, with one of its
// methods.
type Child struct {
	kit   *Kit
	claim *runqueue.Claim
}

// Child starts the child run that waits the longest; nil if none does.
func (k *Kit) Child() *Child {
	k.t.Helper()
	claim, err := k.store.ClaimRun(k.t.Context(), runqueue.ClaimQuery{}, lasts)
	if err != nil {
		k.t.Fatalf("claim a child run: %v", err)
	}
	if claim == nil {
		return nil
	}
	if err := k.store.StartChild(k.t.Context(), claim); err != nil {
		k.t.Fatalf("start child run %s: %v", claim.Row.RunID, err)
	}
	return &Child{k, claim}
}

// WantChild is Child where there must be one.
func (k *Kit) WantChild() *Child {
	k.t.Helper()
	c := k.Child()
	if c == nil {
		k.t.Fatalf("no child run was asked for")
	}
	return c
}

// Claim is the claim on the run, for a test that has the engine do it.
func (c *Child) Claim() *runqueue.Claim { return c.claim }

// Row is the run as it was claimed.
func (c *Child) Row() runqueue.Row { return c.claim.Row }

// Cancelled says why the run is to end, because its resource is being deleted or its
// controller called CancelOthers; "" if it may go on. A host stops such a run at once;
// here the test ends it, with Fail.
func (c *Child) Cancelled() (reason string) {
	c.kit.t.Helper()
	row, err := c.kit.store.Run(c.kit.t.Context(), c.claim.Row.RunID)
	if err != nil {
		c.kit.t.Fatalf("look at child run %s: %v", c.claim.Row.RunID, err)
	}
	return row.CancelReason
}

// Input decodes the input of the run.
func (c *Child) Input(into any) {
	c.kit.t.Helper()
	if err := json.Unmarshal(c.claim.Row.Input, into); err != nil {
		c.kit.t.Fatalf("input of child run %s: %v", c.claim.Row.RunID, err)
	}
}

// Succeed ends the run with an output: anything that encodes as JSON.
func (c *Child) Succeed(output any) {
	c.kit.t.Helper()
	c.Finish(controller.ChildOutcome{State: controller.RunSucceeded, Output: c.encode(output)})
}

// Ask ends the run at a checkpoint, with what it asks.
func (c *Child) Ask(question any) {
	c.kit.t.Helper()
	c.Finish(controller.ChildOutcome{State: controller.RunWaiting, Output: c.encode(question)})
}

// Fail ends the run with an error.
func (c *Child) Fail(message string) {
	c.kit.t.Helper()
	c.Finish(controller.ChildOutcome{State: controller.RunFailed, Error: message})
}

// Interrupt cuts the attempt off as the death of its host does.
func (c *Child) Interrupt(message string) {
	c.kit.t.Helper()
	c.Finish(controller.ChildOutcome{State: controller.RunInterrupted, Error: message})
}

// Finish ends the run in any way.
func (c *Child) Finish(o controller.ChildOutcome) {
	c.kit.t.Helper()
	if err := c.kit.store.FinishChild(c.kit.t.Context(), c.claim, o); err != nil {
		c.kit.t.Fatalf("end child run %s: %v", c.claim.Row.RunID, err)
	}
}

func (c *Child) encode(v any) json.RawMessage {
	c.kit.t.Helper()
	raw, err := canonical.Marshal(v)
	if err != nil {
		c.kit.t.Fatalf("output of child run %s: %v", c.claim.Row.RunID, err)
	}
	return raw
}
