package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
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
	want.Attempt, want.RunID, want.Interruptions = 2, "run-2", 1
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
	done := k.finish(c, controller.Finish{Write: write(c, "asked"), Settle: true})
	equal(k, "finished", done, controller.Finished{})
	got := k.get("a")
	equal(k, "status", string(got.Status.ControllerStatus), `{"phase":"asked"}`)
	equal(k, "pointer", got.Status.WorkflowRun.State, controller.RunRunning)
}

// A pass that ends after its child did not know of it when it decided.
func childEndsDuringPass(k *kit) {
	for _, state := range []controller.RunState{controller.RunSucceeded, controller.RunInterrupted, controller.RunWaiting} {
		key, runID := string(state), "run-"+string(state)
		k.put(key, `{}`)
		k.finish(k.claim(key), failed("boom", 0))
		c := k.claim(key)
		k.reserveChild(c, "r", runID)
		k.finishChild(k.claimRun(runID), state)
		done := k.finish(c, controller.Finish{Write: write(c, "stale"), Settle: true})
		equal(k, "finished", done, controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict})
		equal(k, "status", string(k.get(key).Status.ControllerStatus), `{"phase":"new"}`)
		c = k.claim(key) // at once
		equal(k, "errors", c.ConsecutiveErrors, 1)
		k.settle(c)
	}
}

// retried is a parent that asks for its child again each time it was cut off.
type retried struct {
	*kit
	claim *controller.Claim
}

func (r *retried) ask(runID string) controller.ChildRun {
	r.Helper()
	asked := childReservation(r.claim, "r", runID)
	asked.Retry = controller.ChildRetry{MaxInterruptions: 3, Backoff: controller.Backoff{Base: time.Second, Max: time.Hour}}
	run, _, err := r.Store.ReserveChild(r.Context(), r.claim, asked)
	r.must(err)
	r.settle(r.claim)
	return run
}

func (r *retried) cutOff(runID string, o controller.ChildOutcome) {
	r.Helper()
	o.State, o.Error = controller.RunInterrupted, "it was killed"
	r.must(r.Store.FinishChild(r.Context(), r.claimRun(runID), o))
	r.claim = r.kit.claim("a")
}

// rests checks that nobody gets the run before its delay is over, and that
// who waits for it is told then.
func (r *retried) rests(run controller.ChildRun, delay time.Duration) {
	r.Helper()
	w := r.start(r.waitRuns)
	r.Advance(delay - time.Millisecond)
	if early := r.tryClaimRun(); early != nil {
		r.Fatalf("%s was claimed before its time", early.Row.RunID)
	}
	w.pending()
	b, err := r.Store.Backlog(r.Context(), nil)
	r.must(err)
	if b.Runs != 0 || b.NextDue == nil || !b.NextDue.Equal(*run.StartsAt) {
		r.Errorf("backlog %+v, want a run that is due at %v", b, run.StartsAt)
	}
	r.Advance(time.Millisecond)
	w.end()
}

func childBacksOff(k *kit) {
	r := &retried{kit: k, claim: k.started("a")}
	r.ask("run-1")
	r.cutOff("run-1", controller.ChildOutcome{Stopped: true})
	equal(k, "start after a stop", r.ask("run-2").StartsAt, nil)
	r.cutOff("run-2", controller.ChildOutcome{})
	for i, delay := range []time.Duration{time.Second, 2 * time.Second} {
		runID := fmt.Sprintf("run-%d", i+3)
		run := r.ask(runID)
		equal(k, "interruptions", run.Interruptions, i+1)
		r.rests(run, delay)
		r.cutOff(runID, controller.ChildOutcome{})
	}
	k.gaveUp(r.ask("run-5"))
}

// gaveUp checks a child that was cut off too often.
func (k *kit) gaveUp(run controller.ChildRun) {
	k.Helper()
	equal(k, "state", run.State, controller.RunFailed)
	equal(k, "code", run.Code, controller.CodeInterruptedTooOften)
	equal(k, "attempt", run.Attempt, 4)
	equal(k, "stored", k.children("a"), []controller.ChildRun{run})
	equal(k, "pointer", k.get("a").Status.WorkflowRun.State, controller.RunFailed)
	payload := k.events(controller.EventQuery{Controller: name, Key: "a", Limit: 2})[0].Payload
	if !strings.Contains(string(payload), `"code":"interrupted_too_often"`) {
		k.Errorf("event %s", payload)
	}
	_, err := k.Runs.Run(k.Context(), "run-5")
	wantKind[*runqueue.NotFoundError](k, err)
}

// childRate lets two attempts start at once, and the next ones when there is room.
func childRate(k *kit) {
	c := k.started("a")
	reserve := func(key string) controller.ChildRun {
		k.Helper()
		r := childReservation(c, key, "run-"+key)
		r.PerHour = 2
		run, reserved, err := k.Store.ReserveChild(k.Context(), c, r)
		k.must(err)
		c.Resource.Metadata.ResourceVersion = reserved.Version
		return run
	}
	for _, key := range []string{"one", "two"} {
		run := reserve(key)
		equal(k, "code", run.Code, "")
		equal(k, "starts at", run.StartsAt, nil)
		k.claimRun("run-" + key)
	}
	late := reserve("three")
	equal(k, "code", late.Code, controller.CodeChildRateLimited)
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("%s started too early", c.Row.RunID)
	}
	k.Advance(30 * time.Minute)
	equal(k, "children", k.children("a")[2], late)
	for run := k.tryClaimRun(); ; run = k.tryClaimRun() { // those whose lease is over come first
		if run == nil {
			k.Fatalf("the run did not start")
		}
		if run.Row.RunID == "run-three" {
			k.must(k.Store.StartChild(k.Context(), run))
			break
		}
	}
	equal(k, "code", k.children("a")[2].Code, "")
}
