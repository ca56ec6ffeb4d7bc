package storetest

import (
	"encoding/json"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

func childStarts(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	run := k.claimRun("run-1")
	equal(k, "interrupted", run.Interrupted, false)
	equal(k, "row", run.Row, k.run("run-1"))
	equal(k, "status", run.Row.Status, runqueue.Running)
	k.must(k.Store.StartChild(k.Context(), run))
	equal(k, "state", k.children("a")[0].State, controller.RunRunning)
	equal(k, "pointer", k.get("a").Status.WorkflowRun.State, controller.RunRunning)
	payload := k.lastEvent("a", controller.EventWorkflowStateChanged)
	equal(k, "state in the event", payload["state"], any("running"))
	k.quiet("a", func() { k.must(k.Store.StartChild(k.Context(), run)) })
	k.wantNoClaim() // to start is no news for the parent
	b, err := k.Store.Backlog(k.Context(), nil)
	k.must(err)
	equal(k, "unfinished runs", b.Runs, 1)
}

func childEnds(k *kit) {
	for _, end := range []struct {
		state  controller.RunState
		status runqueue.Status
		output string
		err    string
	}{
		{controller.RunSucceeded, runqueue.Done, `{"ok":true}`, ""},
		{controller.RunWaiting, runqueue.Done, `{"ask":1}`, ""},
		{controller.RunFailed, runqueue.Failed, "", "check failed"},
		{controller.RunInterrupted, runqueue.Failed, "", "stopped"},
	} {
		key, runID := string(end.state), "run-"+string(end.state)
		c := k.started(key)
		k.reserveChild(c, "r", runID)
		k.settle(c)
		run := k.claimRun(runID)
		outcome := controller.ChildOutcome{State: end.state, Error: end.err}
		if end.output != "" {
			outcome.Output = json.RawMessage(end.output)
		}
		before := k.get(key)
		k.must(k.Store.FinishChild(k.Context(), run, outcome))
		child := k.children(key)[0]
		equal(k, "state", child.State, end.state)
		equal(k, "output", string(child.Output), end.output)
		equal(k, "error", child.Error, end.err)
		row := k.run(runID)
		equal(k, "status", row.Status, end.status)
		equal(k, "input", row.Input, nil)
		equal(k, "row error", row.Error, end.err)
		after := k.get(key)
		equal(k, "pointer", after.Status.WorkflowRun.State, end.state)
		equal(k, "version", after.Metadata.ResourceVersion, before.Metadata.ResourceVersion+1)
		payload := k.lastEvent(key, controller.EventWorkflowStateChanged)
		equal(k, "state in the event", payload["state"], any(string(end.state)))
		k.settle(k.claim(key)) // the parent was woken
		if c := k.tryClaimRun(); c != nil {
			k.Errorf("run %s was claimed after its end", c.Row.RunID)
		}
	}
}

func childInterrupted(k *kit) {
	c := k.started("a")
	first, _ := k.reserveChild(c, "r", "run-1")
	k.settle(c)
	k.finishChild(k.claimRun("run-1"), controller.RunInterrupted)
	c = k.claim("a")
	second, reserved := k.reserveChild(c, "r", "run-2")
	equal(k, "started", reserved.Started, true)
	want := first
	want.Attempt, want.RunID = 2, "run-2"
	equal(k, "child", second, want)
	equal(k, "attempt of the row", k.run("run-2").Attempt, 2)
	equal(k, "pointer", *k.get("a").Status.WorkflowRun, controller.WorkflowRun{
		RequestID: first.RequestID, RunID: "run-2", State: controller.RunPending, Attempt: 2,
	})
	payload := k.lastEvent("a", controller.EventWorkflowStateChanged)
	equal(k, "attempt in the event", payload["attempt"], any(2.0))
	k.claimRun("run-2")
}

func childEndsOnce(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	run := k.claimRun("run-1")
	k.finishChild(run, controller.RunFailed)
	k.settle(k.claim("a"))
	k.quiet("a", func() {
		k.wantLost(k.Store.StartChild(k.Context(), run), lease.Released, lease.Gone)
		err := k.Store.FinishChild(k.Context(), run, controller.ChildOutcome{State: controller.RunSucceeded})
		k.wantLost(err, lease.Released, lease.Gone)
	})
	k.wantNoClaim()
}

func childFence(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	first := k.claimRun("run-1")
	k.Advance(lasts - time.Millisecond)
	if c := k.tryClaimRun(); c != nil {
		k.Fatal("a live claim was taken")
	}
	k.Advance(time.Millisecond)
	k.wantLost(k.Runs.CheckRun(k.Context(), first), lease.Expired)
	second := k.claimRun("run-1")
	equal(k, "interrupted", second.Interrupted, true)
	if second.Fence <= first.Fence {
		k.Errorf("fence %d after %d", second.Fence, first.Fence)
	}
	stolen := *first
	stolen.Token = second.Token // the fence alone must do
	for _, old := range []*runqueue.Claim{first, &stolen} {
		k.quiet("a", func() {
			k.wantLost(k.Store.StartChild(k.Context(), old), lease.Taken)
			err := k.Store.FinishChild(k.Context(), old, controller.ChildOutcome{State: controller.RunSucceeded})
			k.wantLost(err, lease.Taken)
			k.wantLost(k.Runs.RenewRun(k.Context(), old, lasts), lease.Taken)
		})
	}
	k.finishChild(second, controller.RunInterrupted)
	k.claim("a")
}

func childProgress(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	run := k.claimRun("run-1")
	k.must(k.Store.StartChild(k.Context(), run))
	k.finishChild(run, controller.RunSucceeded)
	done := k.finish(c, controller.Finish{Write: write(c, "asked"), Settle: true})
	equal(k, "finished", done, controller.Finished{Requeued: true, Reason: controller.ReasonEventDuringPass})
	got := k.get("a")
	equal(k, "status", string(got.Status.ControllerStatus), `{"phase":"asked"}`)
	equal(k, "pointer", got.Status.WorkflowRun.State, controller.RunSucceeded)
}
