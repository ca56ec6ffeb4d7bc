package storetest

import (
	"context"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var detachedTests = []test{
	{"a queued run is claimed by hosts only, in order", detachedOrder},
	{"a detached run that is parked or interrupted is claimed again", detachedAgain},
	{"a paused run is left alone until it may go on", detachedPaused},
	{"a run whose bundle is elsewhere is left alone until its owner is gone", detachedRoot},
	{"a run that the caller cannot go on with is left to others", detachedRefused},
	{"who adopts a run has it for itself", detachedAdopted},
	{"a run is given to the hosts", detachedGiven},
	{"a detached run that waits is told of", detachedWaits},
	{"an order to cancel is for who runs the run", orderCancel},
	{"who waits for a row hears of every order and end", orderHeard},
	{"a child run takes no orders", orderChild},
	{"the continuation of a child run may wait for a host", detachedAnswer},
}

func (k *kit) queueRun(runID string) {
	k.Helper()
	k.must(k.Runs.QueueRun(k.Context(), newRun(runID)))
}

func (k *kit) tryDetached(q runqueue.ClaimQuery) *runqueue.Claim {
	k.Helper()
	q.Detached = true
	c, err := k.Runs.ClaimRun(k.Context(), q, lasts)
	k.must(err)
	return c
}

// claimDetached claims the run that has to be the next one.
func (k *kit) claimDetached(runID string) *runqueue.Claim {
	k.Helper()
	c := k.tryDetached(runqueue.ClaimQuery{})
	if c == nil {
		k.Fatalf("nothing to claim, want %s", runID)
	}
	equal(k, "claimed", c.Row.RunID, runID)
	return c
}

func (k *kit) noDetached(q runqueue.ClaimQuery) {
	k.Helper()
	if c := k.tryDetached(q); c != nil {
		k.Errorf("claimed %s, want nothing", c.Row.RunID)
	}
}

// order tells run-1 what somebody wants of it.
func (k *kit) order(o runqueue.Order) runqueue.Row {
	k.Helper()
	row, err := k.Runs.OrderRun(k.Context(), "run-1", o, "")
	k.must(err)
	equal(k, "row", row, k.run("run-1"))
	return row
}

func detachedOrder(k *kit) {
	w := k.start(func(ctx context.Context) error { return k.Runs.WaitRuns(ctx, runqueue.ClaimQuery{Detached: true}) })
	w.pending()
	k.queueRun("run-z")
	w.end()
	row := k.run("run-z")
	equal(k, "status", row.Status, runqueue.Queued)
	equal(k, "detached", row.Detached, true)
	equal(k, "holder", row.Holder, "")
	k.queueRun("run-a")
	k.launch("run-b")
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("%s was taken for a child run", c.Row.RunID)
	}
	c := k.claimDetached("run-z")
	equal(k, "interrupted", c.Interrupted, false)
	equal(k, "input", string(c.Row.Input), `{"n":1}`)
	k.must(k.Runs.FinishRun(k.Context(), c, runqueue.Done, ""))
	k.claimDetached("run-a")
	k.noDetached(runqueue.ClaimQuery{})
	if err := k.Runs.QueueRun(k.Context(), newRun("run-a")); err == nil {
		k.Error("a run ID was used twice")
	}
}

func detachedAgain(k *kit) {
	k.queueRun("run-1")
	k.must(k.Runs.ParkRun(k.Context(), k.claimDetached("run-1"), "the host stopped"))
	c := k.claimDetached("run-1")
	equal(k, "interrupted", c.Interrupted, false)
	w := k.start(func(ctx context.Context) error { return k.Runs.WaitRuns(ctx, runqueue.ClaimQuery{Detached: true}) })
	w.pending()
	k.Advance(lasts)
	w.end()
	equal(k, "interrupted", k.claimDetached("run-1").Interrupted, true)
}

func detachedPaused(k *kit) {
	k.queueRun("run-1")
	equal(k, "paused", k.order(runqueue.OrderPause).Paused, true)
	k.noDetached(runqueue.ClaimQuery{})
	equal(k, "paused", k.order(runqueue.OrderGo).Paused, false)
	c := k.claimDetached("run-1")
	k.order(runqueue.OrderPause)
	k.must(k.Runs.CheckRun(k.Context(), c))
	k.must(k.Runs.ParkRun(k.Context(), c, ""))
	k.noDetached(runqueue.ClaimQuery{})
	k.order(runqueue.OrderGo)
	k.claimDetached("run-1")
}

func detachedRoot(k *kit) {
	here, there := runqueue.ClaimQuery{Root: "here"}, runqueue.ClaimQuery{Root: "there"}
	k.queueRun("run-1")
	c := k.tryDetached(here)
	equal(k, "root", c.Row.Root, "here")
	k.must(k.Runs.ParkRun(k.Context(), c, ""))
	k.noDetached(there)
	k.tryDetached(here)
	k.Advance(lasts)
	c = k.tryDetached(there)
	equal(k, "interrupted", c.Interrupted, true)
	equal(k, "root", c.Row.Root, "here")

	p := k.started("a")
	k.reserveChild(p, "r", "run-2")
	claim := func(q runqueue.ClaimQuery) *runqueue.Claim {
		k.Helper()
		c, err := k.Runs.ClaimRun(k.Context(), q, lasts)
		k.must(err)
		return c
	}
	equal(k, "root", claim(here).Row.Root, "here")
	k.Advance(lasts)
	child := claim(there)
	equal(k, "interrupted", child.Interrupted, true)
	equal(k, "root", child.Row.Root, "here")
}

func detachedRefused(k *kit) {
	refuse := func() {
		k.Helper()
		k.must(k.Runs.RefuseRun(k.Context(), k.claimDetached("run-1"), "another definition"))
		k.noDetached(runqueue.ClaimQuery{})
	}
	k.queueRun("run-1")
	refuse()
	row := k.run("run-1")
	equal(k, "status", row.Status, runqueue.Parked)
	equal(k, "error", row.Error, "another definition")
	other := k.peer("")
	c := other.claimDetached("run-1")
	k.must(other.Runs.ParkRun(k.Context(), c, ""))
	refuse()
	k.order(runqueue.OrderDetach)
	refuse()
	k.must(other.Runs.ReconsiderRuns(k.Context()))
	k.noDetached(runqueue.ClaimQuery{})
	k.must(k.Runs.ReconsiderRuns(k.Context()))
	k.claimDetached("run-1")
}

func detachedAdopted(k *kit) {
	k.queueRun("run-1")
	k.order(runqueue.OrderPause)
	c, err := k.Runs.AdoptRun(k.Context(), "run-1", "here", lasts)
	k.must(err)
	equal(k, "detached", c.Row.Detached, false)
	equal(k, "paused", c.Row.Paused, false)
	equal(k, "root", c.Row.Root, "here")
	k.must(k.Runs.ParkRun(k.Context(), c, ""))
	k.noDetached(runqueue.ClaimQuery{})
}

func detachedGiven(k *kit) {
	c := k.launch("run-1")
	_, err := k.Runs.OrderRun(k.Context(), "run-1", runqueue.OrderDetach, "")
	wantKind[*runqueue.HeldError](k, err)
	k.must(k.Runs.ParkRun(k.Context(), c, ""))
	equal(k, "detached", k.order(runqueue.OrderDetach).Detached, true)
	k.must(k.Runs.FinishRun(k.Context(), k.claimDetached("run-1"), runqueue.Done, ""))
	for _, o := range []runqueue.Order{runqueue.OrderPause, runqueue.OrderGo, runqueue.OrderCancel, runqueue.OrderDetach} {
		_, err := k.Runs.OrderRun(k.Context(), "run-1", o, "")
		wantKind[*runqueue.EndedError](k, err)
		_, err = k.Runs.OrderRun(k.Context(), "never", o, "")
		wantKind[*runqueue.NotFoundError](k, err)
	}
	if _, err := k.Runs.OrderRun(k.Context(), "run-1", "jump", ""); err == nil {
		k.Error("an unknown order was taken")
	}
}

func detachedWaits(k *kit) {
	head := k.head()
	seen := k.launch("run-1")
	k.must(k.Runs.AwaitAnswer(k.Context(), seen))
	equal(k, "status", k.run("run-1").Status, runqueue.Done)
	equal(k, "events", len(k.events(controller.EventQuery{After: head})), 0)
	k.queueRun("run-2")
	c := k.claimDetached("run-2")
	k.must(k.Runs.AwaitAnswer(k.Context(), c))
	equal(k, "status", k.run("run-2").Status, runqueue.Done)
	told := k.events(controller.EventQuery{After: head})
	equal(k, "events", len(told), 1)
	equal(k, "type", told[0].Type, controller.EventRunWaiting)
	equal(k, "of", told[0].Ref, controller.Ref{})
	equal(k, "payload", string(told[0].Payload), `{"runId":"run-2","workflow":"hello"}`)
	k.wantLost(k.Runs.AwaitAnswer(k.Context(), c), lease.Released)
}

func orderCancel(k *kit) {
	k.queueRun("run-1")
	row, err := k.Runs.OrderRun(k.Context(), "run-1", runqueue.OrderCancel, "nobody wants it")
	k.must(err)
	equal(k, "nobody runs it", row.CancelReason, "")
	c := k.claimDetached("run-1")
	row, err = k.Runs.OrderRun(k.Context(), "run-1", runqueue.OrderCancel, "nobody wants it")
	k.must(err)
	equal(k, "reason", row.CancelReason, "nobody wants it")
	equal(k, "holder", row.Holder, c.Row.Holder)
	k.must(k.Runs.FinishRun(k.Context(), c, runqueue.Cancelled, "nobody wants it"))
}

func orderHeard(k *kit) {
	c := k.launch("run-1")
	for what, change := range map[string]func(){
		"an order":    func() { k.order(runqueue.OrderPause) },
		"a lost host": func() { k.Advance(lasts) },
	} {
		seen := k.run("run-1")
		var heard runqueue.Row
		w := k.start(func(ctx context.Context) (err error) {
			heard, err = k.Runs.AwaitRun(ctx, seen)
			return err
		})
		w.pending()
		change()
		w.end()
		equal(k, what, heard, k.run("run-1"))
		c = k.adoptIfFree(c)
	}
	seen := k.run("run-1")
	w := k.start(func(ctx context.Context) error {
		_, err := k.Runs.AwaitRun(ctx, seen)
		return err
	})
	w.pending()
	k.must(k.Runs.FinishRun(k.Context(), c, runqueue.Done, ""))
	w.end()
	_, err := k.Runs.AwaitRun(k.Context(), runqueue.Row{RunID: "never"})
	wantKind[*runqueue.NotFoundError](k, err)
}

// adoptIfFree takes a run that nobody holds any more.
func (k *kit) adoptIfFree(c *runqueue.Claim) *runqueue.Claim {
	k.Helper()
	if k.run(c.Row.RunID).Holder != "" {
		return c
	}
	return k.adopt(c.Row.RunID)
}

func orderChild(k *kit) {
	k.reserveChild(k.started("a"), "r", "run-1")
	_, err := k.Runs.OrderRun(k.Context(), "run-1", runqueue.OrderPause, "")
	wantKind[*runqueue.ChildRunError](k, err)
}

func detachedAnswer(k *kit) {
	k.asking()
	r := newRun("run-2")
	r.ContinuationOf = "run-1"
	k.must(k.Runs.QueueRun(k.Context(), r))
	k.noDetached(runqueue.ClaimQuery{})
	c := k.claimRun("run-2")
	equal(k, "interrupted", c.Interrupted, false)
	equal(k, "parent", c.Row.ContinuationOf, "run-1")
	k.finishChild(c, controller.RunSucceeded)
	equal(k, "state", k.children("a")[0].State, controller.RunSucceeded)
	k.Advance(time.Second)
}
