package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

var deletionTests = []test{
	{"a resource that nothing holds goes at once", deleteAtOnce},
	{"a key that was deleted can be used again", deleteAndRecreate},
	{"deletion compares the expected version", deleteExpects},
	{"a finalizer holds the deletion back", deleteWithFinalizer},
	{"a pass holds the deletion back", deleteDuringPass},
	{"an unfinished effect holds the deletion back", deleteWithEffect},
	{"a running child is cancelled and holds the deletion back", deleteWithChild},
	{"a child that was to be cancelled does not come back", childAfterDeletion},
	{"children that nobody runs are cancelled at once", childrenCancelledAtRest},
	{"a finalizer is taken away by force", deleteByForce},
	{"force needs a reason, the finalizer and no doubt", deleteByForceRefused},
	{"a verdict ends a deletion that waited for it", deleteByVerdict},
	{"a failed pass deletes nothing", deleteAfterFailure},
	{"deletion is requested once", deleteTwice},
}

func (k *kit) requestDeletion(key string) controller.DeletionResult {
	k.Helper()
	result, err := k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref(key), Actor: "ada"})
	k.must(err)
	return result
}

func (k *kit) deletionOf(key string) error {
	_, err := k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref(key)})
	return err
}

func (k *kit) wantGone(key string) {
	k.Helper()
	if _, err := k.Store.Get(k.Context(), ref(key)); !errors.Is(err, controller.ErrNotFound) {
		k.Fatalf("%s is still there (%v)", key, err)
	}
	k.wantNoClaim()
}

func deleteAtOnce(k *kit) {
	uid := k.put("a", `{}`).Resource.Metadata.UID
	k.enqueue("a")
	got := k.requestDeletion("a")
	equal(k, "deleted", got.Deleted, true)
	equal(k, "uid", got.Resource.Metadata.UID, uid)
	k.wantGone("a")
	equal(k, "events", k.eventTypes("a"), []controller.EventType{
		controller.EventApplied, controller.EventRequested, controller.EventDeletionRequested, controller.EventDeleted,
	})
	equal(k, "payload", k.lastEvent("a", controller.EventDeleted), map[string]any{"uid": uid})
}

func deleteAndRecreate(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectApplied)
	k.settle(c)
	old := k.get("a")
	equal(k, "deleted", k.requestDeletion("a").Deleted, true)
	k.put("a", `{"n":1}`)
	fresh := k.get("a")
	if fresh.Metadata.UID == old.Metadata.UID {
		k.Error("a UID was used twice")
	}
	effects, err := k.Store.Effects(k.Context(), ref("a"))
	k.must(err)
	equal(k, "effects of the new resource", len(effects), 0)
	k.reserve(k.claim("a"), "e") // is free again
}

func deleteExpects(k *kit) {
	k.started("a")
	wrong := int64(7)
	k.quiet("a", func() {
		_, err := k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref("a"), Expect: &wrong})
		equal(k, "conflict", *wantError[*controller.ConflictError](k, err),
			controller.ConflictError{Ref: ref("a"), Expected: 7, Current: 1})
	})
	right := int64(1)
	_, err := k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref("a"), Expect: &right})
	k.must(err)
}

// finalized makes a settled resource with a finalizer.
func (k *kit) finalized(key string) {
	k.Helper()
	c := k.started(key)
	w := write(c, "owns")
	w.Finalizers = []string{"worktree"}
	k.finish(c, controller.Finish{Write: w, Settle: true})
}

func deleteWithFinalizer(k *kit) {
	k.finalized("a")
	before := k.get("a")
	got := k.requestDeletion("a")
	equal(k, "deleted", got.Deleted, false)
	equal(k, "version", got.Resource.Metadata.ResourceVersion, before.Metadata.ResourceVersion+1)
	equal(k, "generation", got.Resource.Metadata.Generation, before.Metadata.Generation)
	if !got.Resource.Metadata.Deleting() {
		k.Fatal("no deletion timestamp")
	}
	c := k.claim("a")
	k.finish(c, controller.Finish{Write: write(c, "cleaning"), Reason: controller.ReasonRequested})
	c = k.claim("a")
	w := write(c, "clean")
	w.Finalizers = nil
	done := k.finish(c, controller.Finish{Write: w, After: lasts, Reason: controller.ReasonDelay})
	equal(k, "finished", done, controller.Finished{Deleted: true})
	k.wantGone("a")
	k.lastEvent("a", controller.EventDeleted)
}

func deleteDuringPass(k *kit) {
	c := k.started("a")
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	equal(k, "conflict", k.finish(c, controller.Finish{Write: write(c, "late"), Settle: true}).Conflict, true)
	c = k.claim("a")
	equal(k, "deleting", c.Resource.Metadata.Deleting(), true)
	done := k.finish(c, controller.Finish{Write: write(c, "gone"), Settle: true})
	equal(k, "finished", done, controller.Finished{Deleted: true})
	k.wantGone("a")

	k.started("b")
	k.Advance(lasts) // a claim that has expired is no pass
	equal(k, "deleted", k.requestDeletion("b").Deleted, true)
	k.wantGone("b")
}

func deleteWithEffect(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	k.finish(c, controller.Finish{Settle: true, Unsettled: lasts})
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	c = k.claim("a")
	settle := func() controller.Finished {
		return k.finish(c, controller.Finish{Write: write(c, "x"), Settle: true, Unsettled: controller.UnsettledDelay})
	}
	equal(k, "reason", settle().Reason, controller.ReasonEffectUnsettled)
	k.Advance(controller.UnsettledDelay)
	c = k.claim("a")
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectApplied)
	equal(k, "finished", settle(), controller.Finished{Deleted: true})
}

func deleteWithChild(k *kit) {
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.settle(c)
	run := k.claimRun("run-1")
	k.must(k.Store.StartChild(k.Context(), run))
	seen := k.run("run-1")
	cancel := k.start(func(ctx context.Context) error {
		_, err := k.Runs.AwaitRun(ctx, seen)
		return err
	})
	cancel.pending()
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	cancel.end()
	equal(k, "reason", k.run("run-1").CancelReason, "its resource is being deleted")
	c = k.claim("a")
	equal(k, "finished", k.finish(c, controller.Finish{Write: write(c, "x"), Settle: true}), controller.Finished{})
	// The last that held the deletion ends it, whether or not a controller is there.
	k.finishChild(run, controller.RunFailed)
	k.wantGone("a")
	equal(k, "row", k.run("run-1").Status, runqueue.Cancelled)
}

// childAfterDeletion is the child of a resource with a finalizer after the end of
// a run that was to be cancelled.
func childAfterDeletion(k *kit) {
	for state, want := range map[controller.RunState]controller.RunState{
		controller.RunSucceeded: controller.RunSucceeded, controller.RunFailed: controller.RunFailed,
		controller.RunInterrupted: controller.RunFailed, controller.RunWaiting: controller.RunFailed,
	} {
		key, runID := string(state), "run-"+string(state)
		k.finalized(key)
		k.enqueue(key)
		c := k.claim(key)
		k.reserveChild(c, "r", runID)
		k.settle(c)
		run := k.claimRun(runID)
		k.requestDeletion(key)
		k.settle(k.claim(key))
		k.finishChild(run, state)
		child := k.children(key)[0]
		equal(k, "state after "+key, child.State, want)
		equal(k, "cancelled", child.Code == controller.CodeCancelled, want == controller.RunFailed)
		c = k.claim(key) // woken
		again, reserved := k.reserveChild(c, "r", "again-"+runID)
		equal(k, "started again", reserved.Started, false)
		equal(k, "state", again.State, want)
		k.settle(c)
		if _, err := k.continuation("next-"+runID, runID); err == nil {
			k.Errorf("a cancelled child that was %s took an answer", state)
		}
	}
}

func childrenCancelledAtRest(k *kit) {
	k.finalized("a")
	k.enqueue("a")
	c := k.claim("a")
	k.reserveChild(c, "asks", "run-1")
	k.finishChild(k.claimRun("run-1"), controller.RunWaiting)
	k.reserveChildAt(c, "cut off", "run-2")
	k.finishChild(k.claimRun("run-2"), controller.RunInterrupted)
	k.reserveChildAt(c, "queued", "run-3")
	k.settle(c)
	k.requestDeletion("a")
	for _, child := range k.children("a") {
		equal(k, "state of "+child.RequestKey, child.State, controller.RunFailed)
		equal(k, "code of "+child.RequestKey, child.Code, controller.CodeCancelled)
		if child.RequestKey != "cut off" { // the run of that had ended
			equal(k, "row of "+child.RequestKey, k.run(child.RunID).Status, runqueue.Cancelled)
		}
	}
	if run := k.tryClaimRun(); run != nil {
		k.Errorf("%s was claimed", run.Row.RunID)
	}
	_, err := k.continuation("run-4", "run-1")
	wantKind[*runqueue.NotWaitingError](k, err)
}

// reserveChildAt asks for a child with the version that the resource has now.
func (k *kit) reserveChildAt(c *controller.Claim, key, runID string) {
	k.Helper()
	c.Resource.Metadata.ResourceVersion = k.get(c.Ref.Key).Metadata.ResourceVersion
	k.reserveChild(c, key, runID)
}

func (k *kit) force(key, finalizer, reason string) (controller.DeletionResult, error) {
	return k.Store.RequestDeletion(k.Context(), controller.Deletion{
		Ref: ref(key), Actor: "ada", ForceFinalizer: finalizer, Reason: reason,
	})
}

func deleteByForce(k *kit) {
	k.finalized("a")
	done, err := k.force("a", "worktree", "the disk is gone")
	k.must(err)
	equal(k, "deleted", done.Deleted, true)
	k.wantGone("a")
	types := k.eventTypes("a")
	equal(k, "events", types[len(types)-3:], []controller.EventType{
		controller.EventDeletionRequested, controller.EventFinalizerForced, controller.EventDeleted,
	})
	var payload map[string]any
	k.must(json.Unmarshal(k.events(controller.EventQuery{Controller: name, Key: "a", Limit: 2})[0].Payload, &payload))
	equal(k, "payload", payload, map[string]any{"finalizer": "worktree", "actor": "ada", "reason": "the disk is gone"})

	c := k.started("b")
	w := write(c, "owns")
	w.Finalizers = []string{"one", "two"}
	k.finish(c, controller.Finish{Write: w, Settle: true})
	k.enqueue("b")
	c = k.claim("b")
	done, err = k.force("b", "one", "r")
	k.must(err)
	equal(k, "deleted", done.Deleted, false)
	equal(k, "finalizers", k.get("b").Metadata.Finalizers, []string{"two"})
	equal(k, "conflict of the pass", k.finish(c, controller.Finish{Write: write(c, "late"), Settle: true}).Conflict, true)
}

func deleteByForceRefused(k *kit) {
	k.finalized("a")
	k.enqueue("a")
	c := k.claim("a")
	k.reserve(c, "e")
	k.finish(c, controller.Finish{After: lasts})
	k.quiet("a", func() {
		_, err := k.force("a", "worktree", "")
		wantKind[*controller.ForceError](k, err)
		_, err = k.Store.RequestDeletion(k.Context(), controller.Deletion{Ref: ref("a"), ForceFinalizer: "worktree", Reason: "r"})
		wantKind[*controller.ForceError](k, err)
		_, err = k.force("a", "other", "r")
		equal(k, "present", wantError[*controller.FinalizerNotFoundError](k, err).Present, []string{"worktree"})
		_, err = k.force("a", "worktree", "r")
		equal(k, "effects", wantError[*controller.UnfinishedEffectsError](k, err).Effects, []string{"e"})
	})
	_, err := k.resolve("a", "e", controller.VerdictAbandon)
	k.must(err)
	done, err := k.force("a", "worktree", "r")
	k.must(err)
	equal(k, "deleted", done.Deleted, true)
}

// A verdict may be the last thing that a deletion waits for.
func deleteByVerdict(k *kit) {
	k.doubtful("a")
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	_, err := k.resolve("a", "e", controller.VerdictApplied)
	k.must(err)
	k.wantGone("a")
	types := k.eventTypes("a")
	equal(k, "last events", types[len(types)-2:], []controller.EventType{controller.EventEffectResolved, controller.EventDeleted})
}

func deleteAfterFailure(k *kit) {
	k.started("a")
	k.requestDeletion("a")
	k.Advance(lasts)
	c := k.claim("a")
	done := k.finish(c, failed("cannot clean up", lasts))
	equal(k, "finished", done, controller.Finished{Requeued: true, Reason: controller.ReasonErrorBackoff, After: lasts})
	k.get("a")
}

func deleteTwice(k *kit) {
	k.finalized("a")
	first := k.requestDeletion("a").Resource
	k.Advance(time.Minute)
	equal(k, "resource", k.requestDeletion("a").Resource, first)
	count := 0
	for _, kind := range k.eventTypes("a") {
		if kind == controller.EventDeletionRequested {
			count++
		}
	}
	equal(k, "requests", count, 1)
}
