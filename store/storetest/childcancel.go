package storetest

import (
	"context"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

var childCancelTests = []test{
	{"children that are not wanted end, or are told to", childrenNotWanted},
	{"to cancel children again changes nothing", childrenCancelledOnce},
	{"a child that was told to end does", childToldToEnd},
	{"a child that is told to end before it starts", childToldBeforeItStarts},
	{"to cancel children compares the version when it writes", childrenCancelledVersion},
}

// unwanted is why children are cancelled in these tests.
const unwanted = "the spec was changed"

// cancelChildren cancels all children but one, and lets the claim go on with the
// version that comes back, as a pass does.
func (k *kit) cancelChildren(c *controller.Claim, keep string) controller.ChildrenCancelled {
	k.Helper()
	done, err := k.Store.CancelChildren(k.Context(), c, cancellation(c, keep))
	k.must(err)
	c.Resource.Metadata.ResourceVersion = done.Version
	return done
}

func cancellation(c *controller.Claim, keep string) controller.ChildCancellation {
	return controller.ChildCancellation{Keep: keep, Reason: unwanted, Version: c.Resource.Metadata.ResourceVersion}
}

// runs asks for a child and starts its run.
func (k *kit) runs(c *controller.Claim, key, runID string) *runqueue.Claim {
	k.Helper()
	k.reserveChildAt(c, key, runID)
	run := k.claimRun(runID)
	k.must(k.Store.StartChild(k.Context(), run))
	return run
}

// childrenNotWanted has a child in every state; each of them is told of.
func childrenNotWanted(k *kit) {
	c := k.started("a")
	for _, child := range []struct {
		key string
		end controller.RunState
	}{
		{"asks", controller.RunWaiting}, {"cut off", controller.RunInterrupted},
		{"done", controller.RunSucceeded}, {"failed", controller.RunFailed},
	} {
		k.finishChild(k.runs(c, child.key, "run-"+child.key), child.end)
	}
	k.runs(c, "kept", "run-kept")
	k.runs(c, "runs", "run-runs")
	k.reserveChildAt(c, "queued", "run-queued")
	before, woken := k.children("a"), k.queue("a").Wake
	done := k.cancelChildren(c, "kept")

	var want []controller.ChildRun
	for _, child := range before {
		switch child.RequestKey {
		case "asks", "cut off", "queued":
			child.State, child.Code, child.Error = controller.RunFailed, controller.CodeCancelled, unwanted
		case "runs":
			child.Code, child.Error = controller.CodeCancelling, unwanted
		}
		want = append(want, child)
	}
	equal(k, "children", k.children("a"), want)
	equal(k, "told", done.Children, []controller.ChildRun{want[0], want[1], want[6], want[5]}) // by key
	after := k.get("a")
	equal(k, "version", done.Version, after.Metadata.ResourceVersion)
	equal(k, "pointer", done.WorkflowRun, after.Status.WorkflowRun)
	equal(k, "state of the pointer", done.WorkflowRun.State, controller.RunFailed)
	for runID, status := range map[string]runqueue.Status{
		"run-asks": runqueue.Cancelled, "run-queued": runqueue.Cancelled, "run-kept": runqueue.Running, "run-runs": runqueue.Running,
	} {
		equal(k, "status of "+runID, k.run(runID).Status, status)
	}
	equal(k, "reason to go on", k.run("run-kept").CancelReason, "")
	equal(k, "reason to end", k.run("run-runs").CancelReason, unwanted)
	payload := k.lastEvent("a", controller.EventWorkflowStateChanged)
	equal(k, "event", []any{payload["requestKey"], payload["state"], payload["code"], payload["error"]},
		[]any{"runs", "running", "cancelling", unwanted})
	// The pass knows of all this: it is no conflict, and wakes nothing.
	equal(k, "wake-ups", k.queue("a").Wake, woken)
	equal(k, "conflict", k.finish(c, controller.Finish{Write: write(c, "x"), Settle: true}).Conflict, false)
	if run := k.tryClaimRun(); run != nil {
		k.Errorf("%s was claimed", run.Row.RunID)
	}
}

func childrenCancelledOnce(k *kit) {
	c := k.started("a")
	k.runs(c, "runs", "run-1")
	k.reserveChildAt(c, "queued", "run-2")
	k.cancelChildren(c, "")
	running := k.children("a")[0]
	k.quiet("a", func() {
		again := cancellation(c, "")
		again.Reason = "another reason"
		done, err := k.Store.CancelChildren(k.Context(), c, again)
		k.must(err)
		equal(k, "done again", done, controller.ChildrenCancelled{
			Children: []controller.ChildRun{running}, Version: again.Version, WorkflowRun: k.get("a").Status.WorkflowRun,
		})
	})
	k.settle(c)
	k.requestDeletion("a") // cancels what is not cancelled
	equal(k, "reason", k.run("run-1").CancelReason, unwanted)
}

// childToldToEnd wakes its parent, and does not begin again; if it had succeeded
// before, it has.
func childToldToEnd(k *kit) {
	for state, want := range map[controller.RunState]controller.RunState{
		controller.RunSucceeded: controller.RunSucceeded, controller.RunFailed: controller.RunFailed,
		controller.RunInterrupted: controller.RunFailed, controller.RunWaiting: controller.RunFailed,
	} {
		key, runID := string(state), "run-"+string(state)
		c := k.started(key)
		run := k.runs(c, "r", runID)
		seen := k.run(runID)
		told := k.start(func(ctx context.Context) error {
			_, err := k.Runs.AwaitRun(ctx, seen)
			return err
		})
		told.pending()
		k.cancelChildren(c, "another")
		told.end()
		k.settle(c)
		k.finishChild(run, state)
		child := k.children(key)[0]
		equal(k, "state after "+key, child.State, want)
		equal(k, "code after "+key, child.Code == controller.CodeCancelled, want == controller.RunFailed)
		equal(k, "row after "+key, k.run(runID).Status == runqueue.Cancelled, want == controller.RunFailed)
		c = k.claim(key) // woken
		_, again := k.reserveChild(c, "r", "again-"+runID)
		equal(k, "started again", again.Started, false)
		equal(k, "left to cancel", k.cancelChildren(c, "").Children, nil)
		k.settle(c)
	}
}

func childToldBeforeItStarts(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	run := k.claimRun("run-1")
	equal(k, "children", k.cancelChildren(c, "").Children, k.children("a"))
	k.settle(c)
	k.must(k.Store.StartChild(k.Context(), run))
	child := k.children("a")[0]
	equal(k, "child", []any{child.State, child.Code, child.Error}, []any{controller.RunRunning, controller.CodeCancelling, unwanted})
	k.finishChild(run, controller.RunFailed)
	equal(k, "code", k.children("a")[0].Code, controller.CodeCancelled)
}

func childrenCancelledVersion(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.put("a", `{"n":2}`)
	k.quiet("a", func() {
		_, err := k.Store.CancelChildren(k.Context(), c, cancellation(c, ""))
		equal(k, "conflict", *wantError[*controller.ConflictError](k, err),
			controller.ConflictError{Ref: ref("a"), Expected: 2, Current: 3})
		equal(k, "version without a write", k.cancelChildren(c, "r").Version, 2)
	})
	equal(k, "state", k.children("a")[0].State, controller.RunPending)
}
