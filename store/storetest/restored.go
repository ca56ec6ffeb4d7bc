package storetest

import (
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var restoredTests = []test{
	{"after a restoration nothing that was under way is believed", restoredDoubts},
	{"after a restoration a new effect is observed until that is accepted", restoredObserves},
	{"a restoration wakes every key and ends every claim", restoredWakes},
	{"a restoration is of its project", restoredIsOfItsProject},
	{"a child run that was queued is looked for after a restoration", restoredChild},
}

func (k *kit) markRestored() {
	k.Helper()
	k.must(k.Store.MarkRestored(k.Context(), controller.Restoration{Actor: "ada", From: "monday.sqlite"}))
}

func restoredDoubts(k *kit) {
	c := k.started("a")
	k.reserve(c, "pending")
	k.reserve(c, "done")
	k.outcome(c, "done", controller.EffectApplied)
	k.reserve(c, "refused")
	k.outcome(c, "refused", controller.EffectRejected)
	k.markRestored()
	states := map[string]controller.EffectState{}
	for _, e := range k.effects("a") {
		states[e.Key] = e.State
	}
	equal(k, "states", states, map[string]controller.EffectState{
		"pending": controller.EffectIndeterminate, "done": controller.EffectApplied, "refused": controller.EffectRejected,
	})
	attempts, err := k.Store.EffectAttempts(k.Context(), ref("a"), "pending")
	k.must(err)
	if len(attempts) != 1 || attempts[0].Outcome != controller.OutcomeUnknown {
		k.Errorf("attempts %+v", attempts)
	}
	_, found := k.reserve(k.claim("a"), "pending")
	equal(k, "found", found, controller.EffectOpen)
}

func restoredObserves(k *kit) {
	r, err := k.Store.Restored(k.Context())
	k.must(err)
	equal(k, "restoration", r, nil)
	k.settle(k.started("a"))
	k.doubtful("b")
	_, err = k.resolve("b", "e", controller.VerdictNotApplied)
	k.must(err)
	k.markRestored()
	if r, err = k.Store.Restored(k.Context()); err != nil || r == nil || r.Actor != "ada" || r.From != "monday.sqlite" || r.At.IsZero() {
		k.Fatalf("restoration %+v, %v", r, err)
	}
	b := k.claim("b") // its verdict woke it before
	_, found := k.reserve(b, "e")
	equal(k, "an effect with an older verdict", found, controller.EffectOpen)
	k.finish(b, controller.Finish{After: lasts, Reason: controller.ReasonDelay})
	c := k.claim("a")
	_, found = k.reserve(c, "new")
	equal(k, "a new effect", found, controller.EffectOpen)
	k.finish(c, controller.Finish{After: lasts, Reason: controller.ReasonDelay})

	for _, want := range []bool{true, false} {
		changed, err := k.Store.AcceptRestored(k.Context(), "grace", "looked")
		k.must(err)
		equal(k, "accepted", changed, want)
	}
	r, err = k.Store.Restored(k.Context())
	k.must(err)
	equal(k, "restoration", r, nil)
	k.enqueue("a")
	_, found = k.reserve(k.claim("a"), "newer")
	equal(k, "a new effect", found, controller.EffectNew)
	k.wantProjectEvents(map[controller.EventType]string{
		controller.EventRestored:         `{"actor":"ada","from":"monday.sqlite","effects":1}`,
		controller.EventRestoredAccepted: `{"actor":"grace","reason":"looked"}`,
	})
}

// wantProjectEvents compares the events that belong to no resource.
func (k *kit) wantProjectEvents(want map[controller.EventType]string) {
	k.Helper()
	got := map[controller.EventType]string{}
	for _, e := range k.events(controller.EventQuery{Limit: 1000}) {
		if e.Ref == (controller.Ref{}) {
			got[e.Type] = string(e.Payload)
		}
	}
	equal(k, "events of the project", got, want)
}

func restoredWakes(k *kit) {
	k.settle(k.started("settled"))
	k.suspend("settled", true)
	k.finish(k.started("delayed"), controller.Finish{After: lasts, Reason: controller.ReasonDelay})
	c := k.started("claimed")
	_, err := k.Runs.ClaimWorkers(k.Context(), "token", lasts)
	k.must(err)
	k.markRestored()
	w, err := k.Runs.Workers(k.Context())
	k.must(err)
	equal(k, "workers", w.Holder, "")
	_ = wantError[*lease.LostError](k, k.Store.CheckApply(k.Context(), c))
	for _, key := range []string{"claimed", "delayed"} {
		q := k.queue(key)
		equal(k, key, q.State, controller.QueueReady)
		equal(k, "wakes of "+key, q.Wake > q.Handled, true)
	}
	equal(k, "suspended", k.queue("settled").State, controller.QueueSuspended)
	k.settle(k.claim("claimed"))
	k.settle(k.claim("delayed"))
	k.wantNoClaim()
}

func restoredIsOfItsProject(k *kit) {
	c := k.started("a")
	k.must(k.peer("other").Store.MarkRestored(k.Context(), controller.Restoration{}))
	r, err := k.Store.Restored(k.Context())
	k.must(err)
	equal(k, "restoration", r, nil)
	k.must(k.Store.CheckApply(k.Context(), c))
}

func restoredChild(k *kit) {
	k.reserveChild(k.started("a"), "child", "run-1")
	k.markRestored()
	c, err := k.Runs.ClaimRun(k.Context(), runqueue.ClaimQuery{}, lasts)
	k.must(err)
	if c == nil || !c.Interrupted {
		k.Fatalf("claim %+v, want one whose bundle may exist", c)
	}
}
