package storetest

import (
	"encoding/json"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var childTests = []test{
	{"one attempt too many in an hour waits", childRate},
	{"one agent attempt too many in an hour waits", agentRate},
	{"an agent attempt counts for its controller", agentRateOfController},
	{"the rate of agent attempts follows the last reservation", agentRateChanges},
	{"a run that was told to end does not show that it waits", agentRateCancelled},
	{"only a live claim of a child run counts agent attempts", agentRateFence},
	{"the first request queues an attempt", childFirst},
	{"a request that exists is found", childFound},
	{"a request key has one meaning", childConflicts},
	{"a request compares the version when it writes", childVersion},
	{"the resource points to the child asked for last", childPointer},
	{"a claimed run starts its attempt", childStarts},
	{"the end of a child is recorded and wakes the parent", childEnds},
	{"an interrupted attempt is followed by another", childInterrupted},
	{"an attempt that ended does not begin again", childEndsOnce},
	{"an older holder of a run can do nothing", childFence},
	{"progress of a child is no conflict for a pass", childProgress},
	{"the end of a child is a conflict for a pass", childEndsDuringPass},
	{"attempts that are cut off come back later and not for ever", childBacksOff},
	{"a child outlives its parent", childOrphan},
	{"the queue does not finish children", childInQueue},
	{"children refuse bad values", childRefuses},
}

func childReservation(c *controller.Claim, key, runID string) controller.ChildReservation {
	return controller.ChildReservation{
		RequestKey: key, Workflow: "verify-branch", Input: json.RawMessage(`{"b":1,"a":2}`), RunID: runID,
		Identity: controller.WorkflowIdentity{Source: json.RawMessage(`{"id":"verify-branch"}`), Digest: "d1"},
		Version:  c.Resource.Metadata.ResourceVersion,
	}
}

// reserveChild asks for a child and lets the claim go on with the version that
// comes back, as a pass does.
func (k *kit) reserveChild(c *controller.Claim, key, runID string) (controller.ChildRun, controller.ChildReserved) {
	k.Helper()
	run, reserved, err := k.Store.ReserveChild(k.Context(), c, childReservation(c, key, runID))
	k.must(err)
	c.Resource.Metadata.ResourceVersion = reserved.Version
	return run, reserved
}

func (k *kit) children(key string) []controller.ChildRun {
	k.Helper()
	list, err := k.Store.Children(k.Context(), ref(key))
	k.must(err)
	return list
}

func (k *kit) tryClaimRun() *runqueue.Claim {
	k.Helper()
	c, err := k.Runs.ClaimRun(k.Context(), runqueue.ClaimQuery{}, lasts)
	k.must(err)
	return c
}

func (k *kit) claimRun(runID string) *runqueue.Claim {
	k.Helper()
	c := k.tryClaimRun()
	if c == nil {
		k.Fatalf("no run to claim, want %s", runID)
	}
	equal(k, "claimed run", c.Row.RunID, runID)
	return c
}

func (k *kit) run(runID string) runqueue.Row {
	k.Helper()
	row, err := k.Runs.Run(k.Context(), runID)
	k.must(err)
	return row
}

func (k *kit) finishChild(run *runqueue.Claim, state controller.RunState) {
	k.Helper()
	k.must(k.Store.FinishChild(k.Context(), run, controller.ChildOutcome{State: state}))
}

func childFirst(k *kit) {
	c := k.started("a")
	before := k.get("a")
	run, reserved := k.reserveChild(c, "verify:1", "run-1")
	equal(k, "child", run, controller.ChildRun{
		RequestID: run.RequestID, ResourceUID: before.Metadata.UID, RequestKey: "verify:1",
		InputFingerprint: "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
		Workflow:         "verify-branch", RunID: "run-1", State: controller.RunPending, Attempt: 1,
	})
	pointer := &controller.WorkflowRun{RequestID: run.RequestID, RunID: "run-1", State: controller.RunPending, Attempt: 1}
	version := before.Metadata.ResourceVersion + 1
	equal(k, "reserved", reserved, controller.ChildReserved{Started: true, Version: version, WorkflowRun: pointer})
	before.Metadata.ResourceVersion = version
	before.Status.WorkflowRun = pointer
	equal(k, "resource", k.get("a"), before)
	equal(k, "stored", k.children("a"), []controller.ChildRun{run})
	row := k.run("run-1")
	equal(k, "run", row, runqueue.Row{
		RunID: "run-1", Workflow: "verify-branch", Source: json.RawMessage(`{"id":"verify-branch"}`), Digest: "d1",
		Input: json.RawMessage(`{"a":2,"b":1}`), Status: runqueue.Queued, ChildOf: run.RequestID, Attempt: 1,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	})
	equal(k, "payload", k.lastEvent("a", controller.EventWorkflowRequested), map[string]any{
		"requestId": run.RequestID, "requestKey": "verify:1", "workflow": "verify-branch", "state": "pending",
		"attempt": 1.0, "runId": "run-1",
	})
	k.settle(c)
}

func childFound(k *kit) {
	c := k.started("a")
	first, started := k.reserveChild(c, "r", "run-1")
	k.quiet("a", func() {
		again, reserved := k.reserveChild(c, "r", "run-2")
		equal(k, "child", again, first)
		equal(k, "reserved", reserved, controller.ChildReserved{Version: started.Version, WorkflowRun: started.WorkflowRun})
	})
	_, err := k.Runs.Run(k.Context(), "run-2")
	wantKind[*runqueue.NotFoundError](k, err)
}

func childConflicts(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	for differs, change := range map[string]func(*controller.ChildReservation){
		"input":    func(r *controller.ChildReservation) { r.Input = json.RawMessage(`{}`) },
		"workflow": func(r *controller.ChildReservation) { r.Workflow = "other" },
	} {
		r := childReservation(c, "r", "run-2")
		change(&r)
		k.quiet("a", func() {
			_, _, err := k.Store.ReserveChild(k.Context(), c, r)
			equal(k, "conflict", *wantError[*controller.ChildConflictError](k, err),
				controller.ChildConflictError{Ref: ref("a"), RequestKey: "r", Differs: differs})
		})
	}
}

func childVersion(k *kit) {
	c := k.started("a")
	k.put("a", `{"n":2}`)
	k.quiet("a", func() {
		_, _, err := k.Store.ReserveChild(k.Context(), c, childReservation(c, "r", "run-1"))
		equal(k, "conflict", *wantError[*controller.ConflictError](k, err),
			controller.ConflictError{Ref: ref("a"), Expected: 1, Current: 2})
	})
	equal(k, "children", len(k.children("a")), 0)
	_, err := k.Runs.Run(k.Context(), "run-1")
	wantKind[*runqueue.NotFoundError](k, err)
}

func childPointer(k *kit) {
	c := k.started("a")
	first, _ := k.reserveChild(c, "r1", "run-1")
	second, _ := k.reserveChild(c, "r2", "run-2")
	equal(k, "pointer", k.get("a").Status.WorkflowRun.RequestID, second.RequestID)
	k.finishChild(k.claimRun("run-1"), controller.RunSucceeded)
	equal(k, "pointer after the other ended", k.get("a").Status.WorkflowRun.RequestID, second.RequestID)
	_, reserved := k.reserveChild(c, "r1", "run-3")
	equal(k, "pointer", *reserved.WorkflowRun, controller.WorkflowRun{
		RequestID: first.RequestID, RunID: "run-1", State: controller.RunSucceeded, Attempt: 1,
	})
	equal(k, "stored pointer", k.get("a").Status.WorkflowRun, reserved.WorkflowRun)
	equal(k, "version", k.get("a").Metadata.ResourceVersion, reserved.Version)
}

func childOrphan(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	run := k.claimRun("run-1")
	k.finishChild(run, controller.RunWaiting)
	equal(k, "deleted", k.requestDeletion("a").Deleted, true)
	equal(k, "row", k.run("run-1").Status, runqueue.Cancelled) // so that nobody answers it
	k.wantLost(k.Store.FinishChild(k.Context(), run, controller.ChildOutcome{State: controller.RunFailed}),
		lease.Released, lease.Gone)
}

func childInQueue(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	run := k.claimRun("run-1")
	_, adopted := k.Runs.AdoptRun(k.Context(), "run-1", "", lasts)
	for _, err := range []error{
		k.Runs.FinishRun(k.Context(), run, runqueue.Done, ""),
		k.Runs.AbandonRun(k.Context(), run, runqueue.Failed, ""),
		k.Runs.ParkRun(k.Context(), run, ""),
		adopted,
	} {
		equal(k, "error", wantError[*runqueue.ChildRunError](k, err).RunID, "run-1")
	}
	k.must(k.Runs.CheckRun(k.Context(), run))
	_, err := k.continuation("run-3", "run-1")
	wantKind[*runqueue.NotWaitingError](k, err)
	launched := k.launch("run-2")
	for what, err := range map[string]error{
		"StartChild":  k.Store.StartChild(k.Context(), launched),
		"FinishChild": k.Store.FinishChild(k.Context(), launched, controller.ChildOutcome{State: controller.RunFailed}),
	} {
		if err == nil {
			k.Errorf("%s was accepted for a run that is no child", what)
		}
	}
	k.must(k.Runs.CheckRun(k.Context(), launched))
	k.finishChild(run, controller.RunWaiting)
	wantKind[*runqueue.ChildRunError](k, k.Runs.WithdrawRun(k.Context(), "run-1", ""))
}

func childRefuses(k *kit) {
	c := k.started("a")
	for what, change := range map[string]func(*controller.ChildReservation){
		"no key":         func(r *controller.ChildReservation) { r.RequestKey = "" },
		"no workflow":    func(r *controller.ChildReservation) { r.Workflow = "" },
		"no run ID":      func(r *controller.ChildReservation) { r.RunID = "" },
		"a key twice":    func(r *controller.ChildReservation) { r.Input = json.RawMessage(`{"a":1,"a":2}`) },
		"a large input":  func(r *controller.ChildReservation) { r.Input = text(controller.MaxRequestBytes + 1) },
		"a large source": func(r *controller.ChildReservation) { r.Identity.Source = text(controller.MaxRequestBytes + 1) },
	} {
		r := childReservation(c, "r", "run-1")
		change(&r)
		if _, _, err := k.Store.ReserveChild(k.Context(), c, r); err == nil {
			k.Errorf("a child with %s was accepted", what)
		}
	}
	equal(k, "children", len(k.children("a")), 0)
	k.reserveChild(c, "r", "run-1")
	if _, _, err := k.Store.ReserveChild(k.Context(), c, childReservation(c, "r2", "run-1")); err == nil {
		k.Error("a run ID was used twice")
	}
	equal(k, "children", len(k.children("a")), 1)
	run := k.claimRun("run-1")
	for what, o := range map[string]controller.ChildOutcome{
		"no state":       {},
		"running":        {State: controller.RunRunning},
		"a large output": {State: controller.RunSucceeded, Output: text(controller.MaxRequestBytes + 1)},
	} {
		if err := k.Store.FinishChild(k.Context(), run, o); err == nil {
			k.Errorf("a child was finished with %s", what)
		}
	}
	k.must(k.Runs.CheckRun(k.Context(), run))
}
