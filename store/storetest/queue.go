package storetest

import (
	"context"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
)

var queueTests = []test{
	{"ten wake-ups are one row and one pass", tenWakeUps},
	{"wake-up is an event", wakeUpEvent},
	{"a claim excludes others", claimExcludes},
	{"a claim carries the resource", claimSnapshot},
	{"claims go to the key that is due the longest", claimOrder},
	{"settled keys leave the queue", settleRemoves},
	{"a wake-up during a pass runs the key again", wakeUpDuringPass},
	{"a wake-up during a pass beats a delay", wakeUpBeatsDelay},
	{"a delay without a wake-up stands", delayStands},
	{"a wake-up ends a delay", wakeUpEndsDelay},
	{"errors count until a pass succeeds", errorsCount},
	{"stopping is not failing", stopKeepsErrors},
	{"a new spec starts with a clean slate", specResets},
	{"an expired claim returns and counts as an error", expiryReturns},
	{"a key whose claims expire again and again backs off", expiryBacksOff},
	{"an expired claim keeps its wake-ups", expiryKeepsWakeUps},
	{"a lost claim can do nothing", lostClaim},
	{"renewal extends a claim", renewal},
}

func tenWakeUps(k *kit) {
	k.settle(k.started("a"))
	for range 10 {
		k.enqueue("a")
	}
	c := k.claim("a")
	k.wantNoClaim()
	equal(k, "finished", k.settle(c), controller.Finished{})
	k.wantNoClaim()
}

func wakeUpEvent(k *kit) {
	k.put("a", `{}`)
	k.enqueue("a")
	equal(k, "payload", k.lastEvent("a", controller.EventRequested), map[string]any{"actor": "ada"})
}

func claimExcludes(k *kit) {
	k.wantNoClaim()
	c := k.started("a")
	k.wantNoClaim()
	equal(k, "queue", k.queue("a").State, controller.QueueClaimed)
	k.must(k.Store.CheckApply(k.Context(), c))
	c, err := k.Store.Claim(k.Context(), nil, lasts)
	k.must(err)
	if c != nil {
		k.Errorf("nobody claimed %s", c.Ref)
	}
}

func claimSnapshot(k *kit) {
	c := k.started("a")
	equal(k, "resource", c.Resource, k.get("a"))
	equal(k, "errors", c.ConsecutiveErrors, 0)
	if c.Token == "" {
		k.Error("a claim without a token")
	}
	k.finish(c, failed("no", 0))
	again := k.claim("a")
	equal(k, "errors", again.ConsecutiveErrors, 1)
	if again.Token == c.Token {
		k.Error("two claims with one token")
	}
}

func claimOrder(k *kit) {
	refs := []controller.Ref{
		{Controller: "b", Key: "1"}, {Controller: "a", Key: "2"}, {Controller: "c", Key: "3"}, {Controller: "b", Key: "0"},
	}
	for _, r := range refs {
		k.putOf(r, `{}`)
		k.Advance(time.Second)
	}
	claim := func(controllers ...string) string {
		k.Helper()
		c, err := k.Store.Claim(k.Context(), controllers, lasts)
		k.must(err)
		if c == nil {
			return ""
		}
		return c.Ref.String()
	}
	equal(k, "of c", claim("c"), "c/3")
	equal(k, "first", claim("a", "b"), "b/1")
	equal(k, "second", claim("b", "a"), "a/2")
	equal(k, "third", claim("a", "b"), "b/0")
	equal(k, "nothing", claim("a", "b", "c"), "")
}

func settleRemoves(k *kit) {
	k.settle(k.started("a"))
	equal(k, "queue", k.queue("a"), controller.QueueRow{State: controller.QueueNone, Wake: 1, Handled: 1})
}

func wakeUpDuringPass(k *kit) {
	c := k.started("a")
	k.enqueue("a")
	k.wantNoClaim()
	want := controller.Finished{Requeued: true, Reason: controller.ReasonEventDuringPass}
	equal(k, "finished", k.settle(c), want)
	equal(k, "finished again", k.settle(k.claim("a")), controller.Finished{})
	k.wantNoClaim()
}

func wakeUpBeatsDelay(k *kit) {
	c := k.started("a")
	for _, f := range []controller.Finish{{After: lasts, Reason: controller.ReasonDelay}, failed("no", lasts)} {
		k.enqueue("a")
		equal(k, "reason", k.finish(c, f).Reason, controller.ReasonEventDuringPass)
		c = k.claim("a")
	}
	equal(k, "errors", c.ConsecutiveErrors, 1)
}

func delayStands(k *kit) {
	for _, f := range []controller.Finish{{After: lasts, Reason: controller.ReasonDelay}, failed("no", lasts)} {
		key := string(f.Reason)
		done := k.finish(k.started(key), f)
		equal(k, "finished", done, controller.Finished{Requeued: true, Reason: f.Reason, After: f.After})
		equal(k, "queue", k.queue(key).State, controller.QueueDelayed)
		k.Advance(lasts - time.Millisecond)
		k.wantNoClaim()
		k.Advance(time.Millisecond)
		equal(k, "queue", k.queue(key).State, controller.QueueReady)
		k.settle(k.claim(key))
	}
}

func wakeUpEndsDelay(k *kit) {
	k.finish(k.started("a"), failed("no", lasts))
	k.wantNoClaim()
	k.enqueue("a")
	equal(k, "errors", k.claim("a").ConsecutiveErrors, 1)
}

func errorsCount(k *kit) {
	c := k.started("a")
	for i := range 3 {
		k.finish(c, failed(fmt.Sprint("error ", i), 0))
		row := k.queue("a")
		equal(k, "errors", row.ConsecutiveErrors, i+1)
		equal(k, "last error", row.LastError, fmt.Sprint("error ", i))
		c = k.claim("a")
		equal(k, "errors before the pass", c.ConsecutiveErrors, i+1)
	}
	k.finish(c, controller.Finish{Reason: controller.ReasonRequested})
	row := k.queue("a")
	equal(k, "errors after success", row.ConsecutiveErrors, 0)
	equal(k, "last error after success", row.LastError, "")
}

func stopKeepsErrors(k *kit) {
	k.finish(k.started("a"), failed("no", 0))
	done := k.finish(k.claim("a"), controller.Finish{KeepErrors: true, Reason: controller.ReasonStopped,
		Pass: controller.PassRecord{Type: controller.EventReleased}})
	equal(k, "finished", done, controller.Finished{Requeued: true, Reason: controller.ReasonStopped})
	row := k.queue("a")
	equal(k, "errors", row.ConsecutiveErrors, 1)
	equal(k, "last error", row.LastError, "no")
	equal(k, "state", row.State, controller.QueueReady)
}

func specResets(k *kit) {
	k.finish(k.started("a"), failed("no", lasts))
	k.put("a", `{"n":2}`)
	row := k.queue("a")
	equal(k, "errors", row.ConsecutiveErrors, 0)
	equal(k, "last error", row.LastError, "")
	c := k.claim("a")
	k.put("a", `{"n":3}`)
	equal(k, "reason", k.finish(c, failed("no", lasts)).Reason, controller.ReasonEventDuringPass)
	equal(k, "errors", k.claim("a").ConsecutiveErrors, 1)
}

func expiryReturns(k *kit) {
	first := k.started("a")
	k.Advance(lasts - time.Millisecond)
	k.wantNoClaim()
	k.Advance(time.Millisecond)
	equal(k, "state", k.queue("a").State, controller.QueueReady)
	second := k.claim("a")
	equal(k, "errors", second.ConsecutiveErrors, 1)
	if second.Token == first.Token {
		k.Error("two claims with one token")
	}
	if k.queue("a").LastError == "" {
		k.Error("nothing tells why the counter rose")
	}
	k.must(k.Store.CheckApply(k.Context(), second))
	k.wantLost(k.Store.CheckApply(k.Context(), first), lease.Taken)
}

// expiryBacksOff is what keeps a pass that kills its process from taking all the
// time there is.
func expiryBacksOff(k *kit) {
	k.started("a")
	k.Advance(lasts)
	k.claim("a") // after the first time at once
	for errors, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		k.Advance(lasts)
		k.wantNoClaim()
		row := k.queue("a")
		equal(k, "state", row.State, controller.QueueDelayed)
		equal(k, "errors", row.ConsecutiveErrors, errors+2)
		k.Advance(delay - time.Millisecond)
		k.wantNoClaim()
		k.Advance(time.Millisecond)
		k.claim("a")
	}
	for range 10 {
		k.Advance(lasts)
		k.wantNoClaim()
		k.Advance(controller.BackoffMax)
		k.claim("a")
	}
	k.Advance(lasts)
	k.wantNoClaim()
	k.enqueue("a") // who asks need not wait
	k.claim("a")
	k.Advance(lasts)
	k.enqueue("a") // nor if nobody has looked yet
	k.settle(k.claim("a"))
}

func expiryKeepsWakeUps(k *kit) {
	k.started("a")
	k.enqueue("a")
	k.Advance(lasts)
	c := k.claim("a")
	equal(k, "finished", k.settle(c), controller.Finished{}) // it saw the wake-up
}

// lostClaim goes through the ways to lose a claim, and for each through all
// that a pass can write.
func lostClaim(k *kit) {
	for _, way := range []struct {
		key     string
		lose    func(c *controller.Claim)
		reasons []lease.Reason
	}{
		{"expired", func(*controller.Claim) { k.Advance(lasts) }, []lease.Reason{lease.Expired}},
		{"taken", func(c *controller.Claim) { k.Advance(lasts); k.claim(c.Ref.Key) }, []lease.Reason{lease.Taken}},
		{"settled", func(c *controller.Claim) { k.settle(c) }, []lease.Reason{lease.Gone, lease.Released}},
		{"requeued", func(c *controller.Claim) { k.finish(c, controller.Finish{After: lasts}) }, []lease.Reason{lease.Released}},
	} {
		k.settleAll()
		c := k.started(way.key)
		way.lose(c)
		k.quiet(way.key, func() {
			for what, attempt := range k.passWrites(c) {
				if err := attempt(k.Context()); err == nil {
					k.Errorf("%s was accepted with a claim that is %s", what, way.key)
				} else {
					k.wantLost(err, way.reasons...)
				}
			}
		})
	}
}

// settleAll works off what is due.
func (k *kit) settleAll() {
	k.Helper()
	k.Advance(lasts)
	for c := k.tryClaim(); c != nil; c = k.tryClaim() {
		k.settle(c)
	}
}

// passWrites is all that a pass can do to the store.
func (k *kit) passWrites(c *controller.Claim) map[string]func(ctx context.Context) error {
	return map[string]func(context.Context) error{
		"CheckApply": func(ctx context.Context) error { return k.Store.CheckApply(ctx, c) },
		"Renew":      func(ctx context.Context) error { return k.Store.Renew(ctx, c, lasts) },
		"Finish": func(ctx context.Context) error {
			_, err := k.Store.Finish(ctx, c, controller.Finish{Write: write(c, "late"), Settle: true})
			return err
		},
		"ReserveEffect": func(ctx context.Context) error {
			_, _, err := k.Store.ReserveEffect(ctx, c, reservation("late"))
			return err
		},
		"FinishEffect": func(ctx context.Context) error {
			_, err := k.Store.FinishEffect(ctx, c, controller.EffectOutcome{Key: "late", State: controller.EffectApplied})
			return err
		},
		"ReserveChild": func(ctx context.Context) error {
			_, _, err := k.Store.ReserveChild(ctx, c, childReservation(c, "late", "late"))
			return err
		},
		"CancelChildren": func(ctx context.Context) error {
			_, err := k.Store.CancelChildren(ctx, c, cancellation(c, ""))
			return err
		},
	}
}

func renewal(k *kit) {
	c := k.started("a")
	for range 3 {
		k.Advance(lasts - time.Millisecond)
		k.must(k.Store.Renew(k.Context(), c, lasts))
	}
	k.Advance(lasts - time.Millisecond)
	k.wantNoClaim()
	k.must(k.Store.CheckApply(k.Context(), c))
	k.settle(c)
	equal(k, "queue", k.queue("a").State, controller.QueueNone)
}
