package storetest

import (
	"errors"
	"time"

	"piworkflows/controller"
)

var deletionTests = []test{
	{"a resource that nothing holds goes at once", deleteAtOnce},
	{"a key that was deleted can be used again", deleteAndRecreate},
	{"deletion compares the expected version", deleteExpects},
	{"a finalizer holds the deletion back", deleteWithFinalizer},
	{"a pass holds the deletion back", deleteDuringPass},
	{"an unfinished effect holds the deletion back", deleteWithEffect},
	{"a running child holds the deletion back", deleteWithChild},
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
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	c = k.claim("a")
	equal(k, "finished", k.finish(c, controller.Finish{Write: write(c, "x"), Settle: true}), controller.Finished{})
	run := k.claimRun("run-1")
	k.must(k.Store.FinishChild(k.Context(), run, controller.ChildOutcome{State: controller.RunSucceeded}))
	c = k.claim("a")
	done := k.finish(c, controller.Finish{Write: write(c, "x"), Settle: true})
	equal(k, "finished", done, controller.Finished{Deleted: true})
	k.wantGone("a")
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
