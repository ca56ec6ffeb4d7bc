package storetest

import (
	"encoding/json"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
)

var finishTests = []test{
	{"finish writes the status", finishWrites},
	{"finish that changes nothing is no write", finishNoWrite},
	{"finish of a stale version stores nothing", finishConflict},
	{"finish after an error writes no resource", finishError},
	{"finish refuses a status over the limit", finishLimit},
	{"finish tells of the pass", finishTells},
	{"finish cuts long errors", finishCuts},
	{"a pass ends once", finishTwice},
	{"an unfinished effect does not let its resource settle", finishUnsettled},
}

func finishWrites(k *kit) {
	c := k.started("a")
	at := time.Date(2027, 1, 5, 8, 15, 0, 123_000_000, time.UTC)
	w := write(c, "done")
	w.Conditions = []controller.Condition{
		{Type: "Ready", Status: controller.True, Reason: "Done", Message: "it <is>", ObservedGeneration: 1, LastTransitionTime: at},
		{Type: "Clean", Status: controller.Unknown, Reason: "NotSeen", LastTransitionTime: at},
	}
	w.Finalizers = []string{"worktree", "ref"}
	equal(k, "finished", k.finish(c, controller.Finish{Write: w, Settle: true}), controller.Finished{})
	want := c.Resource
	want.Metadata.ResourceVersion = 2
	want.Metadata.Finalizers = w.Finalizers
	want.Status = controller.Status[json.RawMessage]{
		ObservedGeneration: 1, Conditions: w.Conditions, ControllerStatus: json.RawMessage(`{"phase":"done"}`),
	}
	equal(k, "resource", k.get("a"), want)
}

func finishNoWrite(k *kit) {
	c := k.started("a")
	k.finish(c, controller.Finish{Write: write(c, "done"), Settle: true})
	before := k.get("a")
	k.enqueue("a")
	c = k.claim("a")
	k.finish(c, controller.Finish{Write: write(c, "done"), Settle: true})
	equal(k, "resource", k.get("a"), before)
}

func finishConflict(k *kit) {
	k.finish(k.started("a"), failed("no", 0))
	c := k.claim("a")
	k.put("a", `{"n":2}`) // resets the errors
	k.finish(c, failed("no", 0))
	c = k.claim("a")
	equal(k, "errors", c.ConsecutiveErrors, 1)
	k.must(k.deletionOf("a"))
	before := k.get("a")
	done := k.finish(c, controller.Finish{Write: write(c, "stale"), Settle: true, Pass: controller.PassRecord{ReconcileID: "r"}})
	equal(k, "finished", done, controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict})
	equal(k, "resource", k.get("a"), before)
	payload := k.lastEvent("a", controller.EventConflict)
	equal(k, "outcome", payload["outcome"], any("conflict"))
	equal(k, "reason", payload["reason"], any("conflict"))
	row := k.queue("a")
	equal(k, "state", row.State, controller.QueueReady)
	equal(k, "errors", row.ConsecutiveErrors, 1)
	equal(k, "last error", row.LastError, "no")
}

func finishError(k *kit) {
	c := k.started("a")
	before := k.get("a")
	k.finish(c, failed("no", lasts))
	equal(k, "resource", k.get("a"), before)
}

func finishLimit(k *kit) {
	c := k.started("a")
	w := write(c, "")
	w.ControllerStatus = text(controller.MaxStatusBytes)
	k.quiet("a", func() {
		_, err := k.Store.Finish(k.Context(), c, controller.Finish{Write: w, Settle: true})
		equal(k, "limit", wantError[*controller.LimitError](k, err).Limit, controller.MaxStatusBytes)
		w.ControllerStatus = json.RawMessage(`{"a":1,"a":2}`)
		if _, err = k.Store.Finish(k.Context(), c, controller.Finish{Write: w, Settle: true}); err == nil {
			k.Error("a status with a key twice was accepted")
		}
	})
	k.must(k.Store.CheckApply(k.Context(), c))
	w.ControllerStatus = text(controller.MaxStatusBytes - 200)
	k.finish(c, controller.Finish{Write: w, Settle: true})
}

func finishTells(k *kit) {
	record := controller.PassRecord{
		ReconcileID: "r-1", Generation: 7, Duration: 1500 * time.Microsecond, Type: controller.EventFinished,
	}
	k.finish(k.started("a"), controller.Finish{After: lasts, Reason: controller.ReasonDelay, Pass: record})
	equal(k, "requeued", k.lastEvent("a", controller.EventFinished), map[string]any{
		"reconcileId": "r-1", "generation": 7.0, "outcome": "requeue", "durationMs": 1.0,
		"reason": "delay", "requeueAfterMs": 30000.0,
	})
	k.enqueue("a")
	record.Type = controller.EventFailed
	f := failed("boom", lasts)
	f.Pass = record
	k.finish(k.claim("a"), f)
	equal(k, "failed", k.lastEvent("a", controller.EventFailed), map[string]any{
		"reconcileId": "r-1", "generation": 7.0, "outcome": "error", "durationMs": 1.0,
		"reason": "error_backoff", "requeueAfterMs": 30000.0, "error": "boom",
	})
	k.enqueue("a")
	record.Type = controller.EventFinished
	k.finish(k.claim("a"), controller.Finish{Settle: true, Pass: record})
	equal(k, "settled", k.lastEvent("a", controller.EventFinished), map[string]any{
		"reconcileId": "r-1", "generation": 7.0, "outcome": "settled", "durationMs": 1.0,
	})
	k.enqueue("a")
	record.Type = controller.EventReleased
	k.finish(k.claim("a"), controller.Finish{KeepErrors: true, Reason: controller.ReasonStopped, Pass: record})
	equal(k, "released", k.lastEvent("a", controller.EventReleased), map[string]any{
		"reconcileId": "r-1", "generation": 7.0, "outcome": "released", "durationMs": 1.0, "reason": "stopped",
	})
}

func finishCuts(k *kit) {
	k.finish(k.started("a"), failed(strings.Repeat("\x01", controller.MaxError+1), lasts))
	got := []rune(k.queue("a").LastError)
	equal(k, "characters", len(got), controller.MaxError)
	equal(k, "end", string(got[len(got)-1]), "…")
}

func finishTwice(k *kit) {
	c := k.started("a")
	k.settle(c)
	k.quiet("a", func() {
		_, err := k.Store.Finish(k.Context(), c, controller.Finish{Settle: true})
		k.wantLost(err, lease.Gone, lease.Released)
	})
}

func finishUnsettled(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	settle := controller.Finish{Settle: true, Unsettled: controller.UnsettledDelay}
	want := controller.Finished{Requeued: true, Reason: controller.ReasonEffectUnsettled, After: controller.UnsettledDelay}
	equal(k, "pending", k.finish(c, settle), want)
	k.wantNoClaim()
	k.Advance(controller.UnsettledDelay)
	c = k.claim("a")
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectIndeterminate)
	equal(k, "indeterminate", k.finish(c, settle), want)
	k.enqueue("a")
	c = k.claim("a")
	k.enqueue("a")
	equal(k, "woken", k.finish(c, settle).Reason, controller.ReasonEventDuringPass)
	c = k.claim("a")
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectRejected)
	equal(k, "rejected", k.finish(c, settle), controller.Finished{})
}
