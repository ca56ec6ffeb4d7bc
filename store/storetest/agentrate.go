package storetest

import (
	"encoding/json"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// agentRun reserves a child run with a rate of agent attempts, and starts it.
func (k *kit) agentRun(key string, perHour int) *runqueue.Claim {
	k.Helper()
	c := k.started(key)
	r := childReservation(c, "r", "run-"+key)
	r.AgentAttemptsPerHour = perHour
	_, reserved, err := k.Store.ReserveChild(k.Context(), c, r)
	k.must(err)
	c.Resource.Metadata.ResourceVersion = reserved.Version
	k.settle(c)
	run := k.claimRun("run-" + key)
	k.must(k.Store.StartChild(k.Context(), run))
	return run
}

// agentRunOf is agentRun for another controller, with one attempt an hour.
func (k *kit) agentRunOf(controllerName string) *runqueue.Claim {
	k.Helper()
	_, err := k.Store.Put(k.Context(), controller.Put{
		Ref: controller.Ref{Controller: controllerName, Key: "a"}, Spec: json.RawMessage(`{}`),
	})
	k.must(err)
	c, err := k.Store.Claim(k.Context(), []string{controllerName}, lasts)
	k.must(err)
	r := childReservation(c, "r", "run-"+controllerName)
	r.AgentAttemptsPerHour = 1
	_, _, err = k.Store.ReserveChild(k.Context(), c, r)
	k.must(err)
	return k.claimRun("run-" + controllerName)
}

// countAgent counts an agent attempt, which is to wait so long.
func (k *kit) countAgent(run *runqueue.Claim, want time.Duration) {
	k.Helper()
	wait, err := k.Store.CountAgentAttempt(k.Context(), run)
	k.must(err)
	equal(k, "wait", wait, want)
}

// passLeased lets time go by and keeps the claim.
func (k *kit) passLeased(run *runqueue.Claim, d time.Duration) {
	k.Helper()
	k.must(k.Runs.RenewRun(k.Context(), run, d+lasts))
	k.Advance(d)
}

// agentRate lets two attempts begin at once, and the next ones when there is room.
// What waits is not counted, however often it asks.
func agentRate(k *kit) {
	run := k.agentRun("a", 2)
	running := k.children("a")[0]
	k.quiet("a", func() {
		k.countAgent(run, 0)
		k.countAgent(run, 0)
	})
	equal(k, "child with room", k.children("a")[0], running)
	before := k.get("a")
	k.countAgent(run, 30*time.Minute)
	late := k.children("a")[0]
	equal(k, "code", late.Code, controller.CodeAgentRateLimited)
	equal(k, "state", late.State, controller.RunRunning)
	payload := k.lastEvent("a", controller.EventWorkflowStateChanged)
	equal(k, "code in the event", payload["code"], any(controller.CodeAgentRateLimited))
	equal(k, "resource", k.get("a"), before)
	k.wantNoClaim() // that it waits is no news for the parent

	k.passLeased(run, 20*time.Minute)
	k.quiet("a", func() { k.countAgent(run, 10*time.Minute) })
	equal(k, "the time stays", *k.children("a")[0].StartsAt, *late.StartsAt)
	k.passLeased(run, 10*time.Minute)
	k.countAgent(run, 0)
	equal(k, "child that goes on", k.children("a")[0], running)
	payload = k.lastEvent("a", controller.EventWorkflowStateChanged)
	equal(k, "code in the event", payload["code"], nil)

	k.countAgent(run, 30*time.Minute)
	k.finishChild(run, controller.RunFailed)
	ended := k.children("a")[0]
	equal(k, "code of the end", ended.Code, "")
	equal(k, "time of the end", ended.StartsAt, nil)
}

// agentRateOfController: the runs of all its resources count together, those of
// another controller do not.
func agentRateOfController(k *kit) {
	a := k.agentRun("a", 1)
	b := k.agentRun("b", 1)
	k.countAgent(a, 0)
	k.countAgent(b, time.Hour)
	equal(k, "code of the first", k.children("a")[0].Code, "")
	k.countAgent(k.agentRunOf("other"), 0)
	other := k.peer("") // as after a restart
	wait, err := other.Store.CountAgentAttempt(k.Context(), b)
	k.must(err)
	equal(k, "wait for a peer", wait, time.Hour)
}

// agentRateChanges: whoever waits gets the new rate when it asks again.
func agentRateChanges(k *kit) {
	a := k.agentRun("a", 1)
	k.countAgent(a, 0)
	k.countAgent(a, time.Hour)
	k.agentRun("b", 60)
	k.countAgent(a, time.Minute)
	k.agentRun("c", 0)
	k.countAgent(a, 0)
	equal(k, "code", k.children("a")[0].Code, "")
}

// agentRateCancelled: a run that was told to end shows that, and not its wait.
func agentRateCancelled(k *kit) {
	run := k.agentRun("a", 1)
	k.countAgent(run, 0)
	k.countAgent(run, time.Hour)
	k.enqueue("a")
	told := k.cancelChildren(k.claim("a"), "").Children[0]
	equal(k, "code", told.Code, controller.CodeCancelling)
	equal(k, "time", told.StartsAt, nil)
	k.countAgent(run, time.Hour)
	equal(k, "child", k.children("a")[0], told)
}

func agentRateFence(k *kit) {
	run := k.agentRun("a", 1)
	k.finishChild(run, controller.RunFailed)
	_, err := k.Store.CountAgentAttempt(k.Context(), run)
	k.wantLost(err, lease.Released, lease.Gone)
	mine, err := k.Runs.Launch(k.Context(), newRun("mine"), lasts)
	k.must(err)
	if _, err := k.Store.CountAgentAttempt(k.Context(), mine); err == nil {
		k.Errorf("an attempt of an interactive run was counted")
	}
}
