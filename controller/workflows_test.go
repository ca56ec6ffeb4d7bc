package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// scheduler knows one workflow.
type scheduler struct {
	workflow string
	ids      atomic.Int64
}

func newScheduler(workflow string) *scheduler { return &scheduler{workflow: workflow} }

func (s *scheduler) Resolve(_ context.Context, workflow string) (controller.WorkflowIdentity, error) {
	if workflow != s.workflow {
		return controller.WorkflowIdentity{}, &controller.UnknownWorkflowError{Name: workflow, Known: []string{s.workflow}}
	}
	return controller.WorkflowIdentity{Source: json.RawMessage(`{"kind":"builtin","id":"w"}`), Digest: "d"}, nil
}

func (s *scheduler) NewRunID(workflow string) string {
	return fmt.Sprintf("%s-%d", workflow, s.ids.Add(1))
}

// parent is a world with a controller that asks for one child.
type parent struct {
	*world
	request   controller.WorkflowRequest
	scheduler *scheduler
	m         *controller.Manager
	child     controller.ChildRun
	err       error
}

func newParent(t *testing.T) *parent {
	t.Helper()
	p := &parent{
		world: newWorld(t), scheduler: newScheduler("w"),
		request: controller.WorkflowRequest{RequestKey: "verify", Workflow: "w", Input: map[string]int{"n": 1}},
	}
	p.put("k", `1`)
	p.m = p.manager(func(o *controller.ManagerOptions) { o.Scheduler = p.scheduler },
		define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
			p.child, p.err = pass.Workflows.Ensure(ctx, p.request)
			return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(p.child.State) + `"`)}), p.err
		}))
	return p
}

// run claims the queued run and ends it.
func (p *parent) run(o controller.ChildOutcome) *runqueue.Claim {
	p.t.Helper()
	c, err := p.store.ClaimRun(p.t.Context(), runqueue.ClaimQuery{}, lease.DefaultDuration)
	if err != nil || c == nil {
		p.t.Fatalf("ClaimRun = %v, %v", c, err)
	}
	if err := p.store.StartChild(p.t.Context(), c); err != nil {
		p.t.Fatal(err)
	}
	if err := p.store.FinishChild(p.t.Context(), c, o); err != nil {
		p.t.Fatal(err)
	}
	return c
}

func TestAChildIsStartedOnceAndWakesItsParent(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	p.once(p.m)
	first := p.child
	if p.err != nil || first.State != controller.RunPending || first.Attempt != 1 || first.RunID != "w-1" {
		t.Errorf("child = %+v, %v", first, p.err)
	}
	// The pointer was written during the pass, and the pass still ended well.
	p.expectQueue("k", controller.QueueNone, 0, 0)
	status := p.get("k").Status
	if string(status.ControllerStatus) != `"pending"` {
		t.Errorf("controller status = %s", status.ControllerStatus)
	}
	want := &controller.WorkflowRun{RequestID: first.RequestID, RunID: "w-1", State: controller.RunPending, Attempt: 1}
	if diff := cmp.Diff(want, status.WorkflowRun); diff != "" {
		t.Errorf("pointer (-want +got):\n%s", diff)
	}
	run := p.run(controller.ChildOutcome{State: controller.RunSucceeded, Output: json.RawMessage(`{"ok":true}`)})
	if string(run.Row.Input) != `{"n":1}` || run.Row.Digest != "d" || run.Row.Workflow != "w" {
		t.Errorf("run = %+v", run.Row)
	}
	p.once(p.m)
	if p.child.State != controller.RunSucceeded || string(p.child.Output) != `{"ok":true}` || p.child.RequestID != first.RequestID {
		t.Errorf("child = %+v", p.child)
	}
	if got := p.get("k").Status.WorkflowRun; got == nil || got.State != controller.RunSucceeded {
		t.Errorf("pointer = %+v", got)
	}
	p.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestAnInterruptedChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	p.once(p.m)
	p.run(controller.ChildOutcome{State: controller.RunInterrupted, Error: "killed"})
	p.once(p.m)
	if p.child.Attempt != 2 || p.child.RunID == "w-1" || p.child.State != controller.RunPending {
		t.Errorf("child = %+v", p.child)
	}
	if due := p.child.StartsAt; due == nil || due.Sub(p.clock.Now()) != controller.ChildBackoffBase {
		t.Errorf("the second attempt starts at %v, now is %v", due, p.clock.Now())
	}
	p.clock.Advance(controller.ChildBackoffBase)
	p.run(controller.ChildOutcome{State: controller.RunFailed, Error: "no"})
	p.once(p.m)
	if p.child.Attempt != 2 || p.child.State != controller.RunFailed || p.child.Error != "no" {
		t.Errorf("child = %+v", p.child)
	}
}

// A run that kills its host must not do so for ever.
func TestAChildThatIsCutOffAgainAndAgainFails(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	p.request.MaxInterruptions = 2
	for attempt := 1; attempt <= 2; attempt++ {
		p.once(p.m)
		if p.child.State != controller.RunPending || p.child.Attempt != attempt {
			t.Fatalf("child = %+v", p.child)
		}
		p.clock.Advance(time.Hour)
		p.run(controller.ChildOutcome{State: controller.RunInterrupted, Error: "killed"})
	}
	p.once(p.m)
	if p.child.State != controller.RunFailed || p.child.Code != controller.CodeInterruptedTooOften || p.err != nil {
		t.Errorf("child = %+v, %v", p.child, p.err)
	}
	p.expectQueue("k", controller.QueueNone, 0, 0)
	if got := string(p.get("k").Status.ControllerStatus); got != `"failed"` {
		t.Errorf("controller status = %s", got)
	}
}

// The pass decided without knowing, so what it decided is thrown away.
func TestTheEndOfAChildDuringAPassIsAConflict(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	m := p.manager(func(o *controller.ManagerOptions) { o.Scheduler = p.scheduler },
		define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
			child, err := pass.Workflows.Ensure(ctx, p.request)
			if child.State == controller.RunPending {
				p.run(controller.ChildOutcome{State: controller.RunSucceeded})
			}
			return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(child.State) + `"`)}), err
		}))
	p.once(m)
	p.lastEvent("k", controller.EventConflict)
	p.expectQueue("k", controller.QueueReady, 0, 0)
	if got := string(p.get("k").Status.ControllerStatus); got == `"pending"` {
		t.Error("a pass that did not know of the end of its child stored its status")
	}
	p.once(m)
	if got := string(p.get("k").Status.ControllerStatus); got != `"succeeded"` {
		t.Errorf("controller status = %s", got)
	}
}

// What a run came to does not depend on whether it could be started today.
func TestAChildThatEndedNeedsNoWorkflow(t *testing.T) {
	t.Parallel()
	for state, found := range map[controller.RunState]bool{
		controller.RunSucceeded: true, controller.RunFailed: true, controller.RunWaiting: true,
		controller.RunInterrupted: false, // it needs another attempt
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			p := newParent(t)
			p.once(p.m)
			p.scheduler.workflow = "another"
			p.run(controller.ChildOutcome{State: state})
			p.once(p.m)
			var unknown *controller.UnknownWorkflowError
			if found && (p.err != nil || p.child.State != state) || !found && !errors.As(p.err, &unknown) {
				t.Errorf("child = %+v, %v", p.child, p.err)
			}
			if found {
				p.request.Input = "other"
				p.wake()
				p.once(p.m)
				if _, ok := errors.AsType[*controller.ChildConflictError](p.err); !ok {
					t.Errorf("another input: %v", p.err)
				}
			}
		})
	}
}

func TestAChildRequestKeyMeansOneThing(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	p.once(p.m)
	p.request.Input = "other"
	p.wake()
	p.once(p.m)
	var conflict *controller.ChildConflictError
	if !errors.As(p.err, &conflict) || conflict.RequestKey != "verify" || conflict.Differs != "input" {
		t.Errorf("Ensure = %v", p.err)
	}
	children, err := p.store.Children(t.Context(), ref("k"))
	if err != nil || len(children) != 1 || children[0].Attempt != 1 {
		t.Errorf("children = %+v, %v", children, err)
	}
}

func (w *world) wake() {
	w.t.Helper()
	if _, err := w.store.Enqueue(w.t.Context(), ref("k"), "test"); err != nil {
		w.t.Fatal(err)
	}
}

func TestAChangeBeforeAChildRequestIsAConflict(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	changed := false
	p.store.Hook(func(op string) error {
		if op == "ReserveChild" && !changed {
			changed = true
			p.put("k", `2`)
		}
		return nil
	}, nil)
	p.once(p.m)
	if !errors.Is(p.err, controller.ErrConflict) {
		t.Errorf("Ensure = %v", p.err)
	}
	p.expectQueue("k", controller.QueueReady, 0, 0)
	p.lastEvent("k", controller.EventConflict)
	p.once(p.m)
	if p.err != nil || p.child.Attempt != 1 {
		t.Errorf("child = %+v, %v", p.child, p.err)
	}
}

func TestEnsureWorkflowRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(r *controller.WorkflowRequest)
		says   string
	}{
		{"no key", func(r *controller.WorkflowRequest) { r.RequestKey = "" }, "request key"},
		{"no workflow", func(r *controller.WorkflowRequest) { r.Workflow = "" }, "workflow name"},
		{"an unknown workflow", func(r *controller.WorkflowRequest) { r.Workflow = "x" }, `no workflow is named "x"`},
		{"interruptions below none", func(r *controller.WorkflowRequest) { r.MaxInterruptions = -1 }, "-1 interruptions"},
		{"an input that is no JSON", func(r *controller.WorkflowRequest) { r.Input = func() {} }, "child input"},
		{"an input that is too large", func(r *controller.WorkflowRequest) { r.Input = quoted(controller.MaxRequestBytes + 1) },
			"child input is 1048577 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newParent(t)
			test.change(&p.request)
			p.once(p.m)
			if p.err == nil || !strings.Contains(p.err.Error(), test.says) {
				t.Errorf("Ensure = %v, want an error with %q", p.err, test.says)
			}
			if got, err := p.store.Children(t.Context(), ref("k")); err != nil || len(got) > 0 {
				t.Errorf("children = %+v, %v", got, err)
			}
			p.expectQueue("k", controller.QueueDelayed, time.Second, 1)
		})
	}
}

// changing is a controller that asks for one child, which depends on the spec, and
// waits for the end of the one before.
func (p *parent) changing(heard *witness) *controller.Manager {
	return p.manager(func(o *controller.ManagerOptions) {
		heard.watch(o)
		o.Scheduler = p.scheduler
	},
		define(func(ctx context.Context, pass *controller.Pass, r controller.Raw) (controller.RawResult, error) {
			key := "verify:" + string(r.Spec)
			before, err := pass.Workflows.CancelOthers(ctx, key, "")
			if err != nil || len(before) > 0 {
				return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"waits"`)}), err
			}
			p.child, p.err = pass.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: key, Workflow: "w"})
			return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(p.child.State) + `"`)}), p.err
		}))
}

// startRun has a host claim the run that waits, and start it.
func (p *parent) startRun(runID string) *runqueue.Claim {
	p.t.Helper()
	c, err := p.store.ClaimRun(p.t.Context(), runqueue.ClaimQuery{}, lease.DefaultDuration)
	if err != nil || c == nil || c.Row.RunID != runID {
		p.t.Fatalf("ClaimRun = %+v, %v; want %s", c, err, runID)
	}
	if err := p.store.StartChild(p.t.Context(), c); err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *parent) wantStatus(want string) {
	p.t.Helper()
	if got := string(p.get("k").Status.ControllerStatus); got != `"`+want+`"` {
		p.t.Errorf("controller status %s, want %q", got, want)
	}
	p.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestAChildThatIsNotWantedAnyMoreEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	m := p.changing(&witness{})
	p.once(m)
	run := p.startRun("w-1")
	p.put("k", `2`)
	p.once(m)
	p.wantStatus("waits")
	row, err := p.store.Run(t.Context(), "w-1")
	if err != nil || row.CancelReason != "its resource asks for something else now" {
		t.Errorf("run %+v, %v", row, err)
	}
	p.wake() // asked again, it waits as before
	p.once(m)
	p.wantStatus("waits")
	if err := p.store.FinishChild(t.Context(), run, controller.ChildOutcome{State: controller.RunInterrupted}); err != nil {
		t.Fatal(err)
	}
	p.once(m)
	p.wantStatus("pending")
	children, err := p.store.Children(t.Context(), ref("k"))
	if err != nil || len(children) != 2 || children[0].State != controller.RunFailed || children[0].Code != controller.CodeCancelled {
		t.Errorf("children %+v, %v", children, err)
	}
}

// What nobody runs ends in the pass, which goes on with the next one.
func TestAChildThatNobodyRunsEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	heard := &witness{}
	m := p.changing(heard)
	p.once(m)
	p.put("k", `2`)
	p.once(m)
	p.wantStatus("pending")
	if !slices.ContainsFunc(heard.list, func(r controller.Record) bool {
		c, ok := r.(controller.ChildChanged)
		return ok && c.State == controller.RunFailed && c.Err == "its resource asks for something else now"
	}) {
		t.Errorf("heard %+v", heard.list)
	}
	if p.child.RunID != "w-2" || p.get("k").Status.WorkflowRun.RunID != "w-2" {
		t.Errorf("child %+v", p.child)
	}
	p.startRun("w-2") // and the other one is not there to be claimed
	p.put("k", `1`)   // its key stays used
	p.once(m)
	p.wantStatus("waits")
}

func TestAChangeBeforeACancellationIsAConflict(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	m := p.changing(&witness{})
	p.once(m)
	p.put("k", `2`)
	changed := false
	p.store.Hook(func(op string) error {
		if op == "CancelChildren" && !changed {
			changed = true
			p.put("k", `1`) // wants the child after all
		}
		return nil
	}, nil)
	p.once(m)
	p.lastEvent("k", controller.EventConflict)
	p.once(m)
	p.wantStatus("pending")
	if p.child.RunID != "w-1" || p.child.Attempt != 1 {
		t.Errorf("child %+v", p.child)
	}
}

func TestCancelOthersRefusesAKeyThatNoChildCanHave(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	m := p.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := pass.Workflows.CancelOthers(ctx, strings.Repeat("k", controller.MaxKey+1), "")
		if _, ok := errors.AsType[*controller.NameError](err); !ok {
			t.Errorf("CancelOthers = %v", err)
		}
		return controller.Settled(nothing), nil
	}))
	p.once(m)
}

func TestEnsureWorkflowNeedsAScheduler(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	m := p.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := pass.Workflows.Ensure(ctx, p.request)
		if !errors.Is(err, controller.ErrNoScheduler) {
			t.Errorf("Ensure = %v", err)
		}
		return controller.Settled(nothing), nil
	}))
	p.once(m)
}
