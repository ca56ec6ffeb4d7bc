package storetest

import (
	"encoding/json"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var childContinuationTests = []test{
	{"the continuation of a waiting child is the child", childContinued},
	{"a continuation that never began lets its child wait again", childContinuationUnborn},
	{"a continuation that was cancelled before it began ends its child", childContinuationCancelled},
	{"a continuation whose process died is taken up like every child", childContinuationDies},
	{"a child that nobody waits for takes no answer", childContinuationRefused},
}

// asking leaves a settled parent a whose child run-1 waits.
func (k *kit) asking() controller.ChildRun {
	k.Helper()
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	outcome := controller.ChildOutcome{State: controller.RunWaiting, Output: json.RawMessage(`{"ask":1}`)}
	k.must(k.Store.FinishChild(k.Context(), k.claimRun("run-1"), outcome))
	k.settle(k.claim("a"))
	return k.children("a")[0]
}

func childContinued(k *kit) {
	waiting := k.asking()
	next, err := k.continuation("run-2", "run-1")
	k.must(err)
	equal(k, "child of", next.Row.ChildOf, waiting.RequestID)
	equal(k, "attempt", next.Row.Attempt, 1)
	running := waiting
	running.RunID, running.State = "run-2", controller.RunRunning
	equal(k, "request", k.children("a"), []controller.ChildRun{running})
	equal(k, "pointer", *k.get("a").Status.WorkflowRun, controller.WorkflowRun{
		RequestID: waiting.RequestID, RunID: "run-2", State: controller.RunRunning, Attempt: 1,
	})
	k.lastEvent("a", controller.EventWorkflowStateChanged)
	k.wantNoClaim() // that it goes on is no news for the parent
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("%s was claimed twice", c.Row.RunID)
	}
	k.quiet("a", func() {
		_, err = k.continuation("run-3", "run-1")
		equal(k, "continued by", wantError[*runqueue.ContinuedError](k, err).ContinuedBy, "run-2")
	})

	k.finishChild(next, controller.RunWaiting) // it asks once more
	k.settle(k.claim("a"))
	last, err := k.continuation("run-3", "run-2")
	k.must(err)
	k.must(k.Store.FinishChild(k.Context(), last, controller.ChildOutcome{
		State: controller.RunSucceeded, Output: json.RawMessage(`7`),
	}))
	done := k.children("a")[0]
	equal(k, "state", done.State, controller.RunSucceeded)
	equal(k, "output", string(done.Output), `7`)
	equal(k, "pointer", k.get("a").Status.WorkflowRun.State, controller.RunSucceeded)
	k.settle(k.claim("a")) // the parent was woken
}

func childContinuationUnborn(k *kit) {
	waiting := k.asking()
	next, err := k.continuation("run-2", "run-1")
	k.must(err)
	k.must(k.Runs.AbandonRun(k.Context(), next, runqueue.Failed, "no bundle"))
	equal(k, "request", k.children("a"), []controller.ChildRun{waiting})
	equal(k, "pointer", k.get("a").Status.WorkflowRun.RunID, "run-1")
	k.settle(k.claim("a")) // it may have seen it run
	equal(k, "row", k.run("run-2").Status, runqueue.Failed)
	k.wantLost(k.Runs.AbandonRun(k.Context(), next, runqueue.Failed, ""), lease.Released, lease.Gone)
	_, err = k.continuation("run-3", "run-1")
	k.must(err)
}

func childContinuationCancelled(k *kit) {
	k.asking()
	next, err := k.continuation("run-2", "run-1")
	k.must(err)
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	k.must(k.Runs.AbandonRun(k.Context(), next, runqueue.Failed, "no bundle"))
	k.wantGone("a")
	equal(k, "row", k.run("run-1").Status, runqueue.Cancelled)
	_, err = k.continuation("run-3", "run-1")
	wantKind[*runqueue.NotWaitingError](k, err)
}

func childContinuationDies(k *kit) {
	k.asking()
	first, err := k.continuation("run-2", "run-1")
	k.must(err)
	k.Advance(lasts)
	next := k.claimRun("run-2")
	equal(k, "interrupted", next.Interrupted, true)
	equal(k, "continues", next.Row.ContinuationOf, "run-1")
	k.wantLost(k.Store.FinishChild(k.Context(), first, controller.ChildOutcome{State: controller.RunSucceeded}), lease.Taken)
	k.finishChild(next, controller.RunInterrupted)
	c := k.claim("a")
	run, _ := k.reserveChild(c, "r", "run-3") // from the beginning
	equal(k, "attempt", run.Attempt, 2)
}

func childContinuationRefused(k *kit) {
	k.asking()
	equal(k, "deleted", k.requestDeletion("a").Deleted, true)
	_, err := k.continuation("run-2", "run-1")
	wantKind[*runqueue.NotWaitingError](k, err)
	_, err = k.Runs.Run(k.Context(), "run-2")
	wantKind[*runqueue.NotFoundError](k, err)

	c := k.started("b")
	k.reserveChild(c, "r", "run-3")
	k.settle(c)
	k.finishChild(k.claimRun("run-3"), controller.RunSucceeded)
	k.quiet("b", func() {
		_, err = k.continuation("run-4", "run-3")
		equal(k, "status", wantError[*runqueue.NotWaitingError](k, err).Status, "orphaned")
	})
}
