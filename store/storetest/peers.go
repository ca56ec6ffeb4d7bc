package storetest

import (
	"context"
	"errors"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var peerTests = []test{
	{"a peer sees what was written", peerSees},
	{"a claim excludes peers", peerClaims},
	{"a peer that waits is woken", peerWaits},
	{"a peer that follows hears", peerFollows},
	{"projects never see each other", projectsApart},
}

func peerSees(k *kit) {
	other := k.peer("")
	k.put("a", `{"n":1}`)
	equal(k, "resource", other.get("a"), k.get("a"))
	other.put("a", `{"n":2}`)
	equal(k, "resource", k.get("a"), other.get("a"))
	equal(k, "events", k.events(controller.EventQuery{}), other.events(controller.EventQuery{}))
}

func peerClaims(k *kit) {
	other := k.peer("")
	c := k.started("a")
	other.wantNoClaim()
	equal(k, "state for a peer", other.queue("a").State, controller.QueueClaimed)
	other.enqueue("a")
	equal(k, "reason", k.settle(c).Reason, controller.ReasonEventDuringPass)
	taken := other.claim("a")
	k.wantNoClaim()
	k.wantLost(k.Store.CheckApply(k.Context(), c), lease.Taken)
	k.must(other.Store.CheckApply(k.Context(), taken))
}

func peerWaits(k *kit) {
	other := k.peer("")
	c := k.started("a")
	k.settle(c)
	keys, runs := other.waitFor(), other.start(other.waitRuns)
	keys.pending()
	k.enqueue("a")
	keys.end()
	c = k.claim("a")
	runs.pending()
	k.reserveChild(c, "r", "run-1")
	runs.end()
	other.claimRun("run-1")
}

func peerFollows(k *kit) {
	other := k.peer("")
	k.put("a", `{}`)
	head := other.head()
	var got controller.Changes
	w := other.start(func(ctx context.Context) (err error) {
		got, err = other.Store.Changes(ctx, head, controller.ChangeFilter{})
		return err
	})
	w.pending()
	k.enqueue("a")
	w.end()
	equal(k, "event", got.Events[0].Type, controller.EventRequested)
}

func projectsApart(k *kit) {
	other := k.peer("another project")
	c := k.started("a")
	k.reserveChild(c, "r", "run-1")
	k.deliver(controller.Delivery{ID: "d1", Cursor: "c1", Keys: []string{"a"}})
	other.wantNoClaim()
	if c := other.tryClaimRun(); c != nil {
		k.Errorf("the run %s of another project was claimed", c.Row.RunID)
	}
	if _, err := other.Store.Get(k.Context(), ref("a")); !errors.Is(err, controller.ErrNotFound) {
		k.Errorf("a resource of another project: %v", err)
	}
	_, err := other.Runs.Run(k.Context(), "run-1")
	wantKind[*runqueue.NotFoundError](k, err)
	equal(k, "resources", len(other.list("", 0)), 0)
	equal(k, "events", len(other.events(controller.EventQuery{})), 0)
	equal(k, "cursor", other.cursor(name, "webhook"), "")
	equal(k, "delivery", other.deliver(controller.Delivery{ID: "d1"}), controller.DeliveryResult{})
	k.wantLost(other.Store.CheckApply(k.Context(), c), lease.Gone)

	theirs := other.started("a")
	if theirs.Resource.Metadata.UID == c.Resource.Metadata.UID {
		k.Error("two projects share a resource")
	}
	other.reserveChild(theirs, "r", "run-1")
	k.settle(c)
	k.settle(k.claim("a")) // it was delivered during the pass
	k.claimRun("run-1")
	other.must(other.Store.CheckApply(k.Context(), theirs))
	other.claimRun("run-1")
	equal(k, "deleted", k.requestDeletion("a").Deleted, false)
	equal(k, "their resource", other.get("a").Metadata.Deleting(), false)
}
