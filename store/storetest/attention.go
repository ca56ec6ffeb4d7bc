package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"piworkflows/controller"
)

var attentionTests = []test{
	{"a request is handled by the pass that saw it", requestHandled},
	{"a pass that was cut off handles nothing", cutOffHandlesNothing},
	{"sequences and suspension change no version", attentionIsNoWrite},
	{"a suspended key is not claimed", suspendedWaits},
	{"a suspension does not end a pass", suspendedDuringPass},
	{"a terminal error stays until something new comes", terminalStays},
	{"a terminal error during which a wake-up came runs again", terminalWoken},
	{"a retry counts apart from errors", retriesCount},
	{"a resync waits in the background", resyncWaits},
	{"lanes overtake by their offset", lanesOvertake},
	{"no key waits longer than the ageing bound", ageingBound},
	{"a rebuilt queue holds every resource", rebuilt},
}

func requestHandled(k *kit) {
	k.settle(k.started("a"))
	before := k.queue("a")
	equal(k, "handled", before.Handled, before.Wake)
	request := k.request("a")
	c := k.claim("a")
	during := k.request("a")
	k.finish(c, failed("no", 0))
	equal(k, "handled after a pass that failed", k.queue("a").Handled, request)
	k.settle(k.claim("a"))
	equal(k, "handled", k.queue("a").Handled, during)
}

// request wakes a key and returns its count of wake-ups.
func (k *kit) request(key string) int64 {
	k.Helper()
	before := k.queue(key).Wake
	count, err := k.Store.Enqueue(k.Context(), ref(key), "ada")
	k.must(err)
	equal(k, "wake-up", count, before+1)
	return count
}

func cutOffHandlesNothing(k *kit) {
	c := k.started("a")
	k.finish(c, controller.Finish{KeepErrors: true, Reason: controller.ReasonStopped,
		Pass: controller.PassRecord{Type: controller.EventReleased}})
	equal(k, "handled after a stop", k.queue("a").Handled, int64(0))
	c = k.claim("a")
	stale := write(c, "stale")
	stale.Version--
	equal(k, "conflict", k.finish(c, controller.Finish{Write: stale, Settle: true}).Conflict, true)
	equal(k, "handled after a conflict", k.queue("a").Handled, int64(0))
	k.claim("a")
	k.Advance(lasts)
	equal(k, "handled after an expiry", k.queue("a").Handled, int64(0))
}

func attentionIsNoWrite(k *kit) {
	k.settle(k.started("a"))
	before := k.get("a")
	k.suspend("a", true)
	k.unsuspend(true)
	k.settle(k.claim("a"))
	_, err := k.Store.RebuildQueue(k.Context())
	k.must(err)
	equal(k, "resource", k.get("a"), before)
}

func (k *kit) suspend(key string, want bool) {
	k.Helper()
	changed, err := k.Store.Suspend(k.Context(), ref(key), "ada", "holidays")
	k.must(err)
	equal(k, "suspended", changed, want)
}

func (k *kit) unsuspend(want bool) {
	k.Helper()
	changed, err := k.Store.Unsuspend(k.Context(), ref("a"), "ada", "")
	k.must(err)
	equal(k, "unsuspended", changed, want)
}

func suspendedWaits(k *kit) {
	k.put("a", `{"n":1}`)
	k.suspend("a", true)
	equal(k, "payload", k.lastEvent("a", controller.EventSuspended), map[string]any{"actor": "ada", "reason": "holidays"})
	k.quiet("a", func() { k.suspend("a", false) })
	k.enqueue("a")
	k.put("a", `{"n":2}`)
	k.wantNoClaim()
	row := k.queue("a")
	equal(k, "state", row.State, controller.QueueSuspended)
	if s := row.Suspension; s == nil || s.Actor != "ada" || s.Reason != "holidays" || s.At.IsZero() {
		k.Errorf("suspension %+v", s)
	}
	k.unsuspend(true)
	equal(k, "payload", k.lastEvent("a", controller.EventUnsuspended), map[string]any{"actor": "ada"})
	k.quiet("a", func() { k.unsuspend(false) })
	k.settle(k.claim("a"))

	k.suspend("a", true) // also without a row
	equal(k, "state", k.queue("a").State, controller.QueueNone)
	k.enqueue("a")
	k.wantNoClaim()
}

func suspendedDuringPass(k *kit) {
	c := k.started("a")
	k.suspend("a", true)
	k.must(k.Store.CheckApply(k.Context(), c))
	k.finish(c, controller.Finish{Write: write(c, "done"), Reason: controller.ReasonRequested})
	k.wantNoClaim()
	k.unsuspend(true)
	k.claim("a")
}

// terminal is the end of a pass that trying again cannot mend.
func terminal(text string) controller.Finish {
	return controller.Finish{Err: text, Settle: true, Terminal: true, Pass: controller.PassRecord{Type: controller.EventFailed}}
}

func terminalStays(k *kit) {
	equal(k, "finished", k.finish(k.started("a"), terminal("no such branch")), controller.Finished{})
	equal(k, "terminal", k.lastEvent("a", controller.EventFailed)["terminal"], any(true))
	k.Advance(time.Hour)
	k.wantNoClaim()
	equal(k, "stalled", k.queue("a").Stalled, "no such branch")
	for _, wake := range []func(){
		func() { k.enqueue("a") },
		func() { k.put("a", `{"n":2}`) },
		func() { k.deliver(controller.Delivery{Keys: []string{"a"}}) },
	} {
		wake()
		c := k.claim("a")
		equal(k, "stalled while it is tried again", k.queue("a").Stalled, "no such branch")
		k.finish(c, terminal("no such branch"))
	}
	k.enqueue("a")
	k.settle(k.claim("a"))
	equal(k, "stalled after success", k.queue("a").Stalled, "")
}

func terminalWoken(k *kit) {
	c := k.started("a")
	k.enqueue("a")
	want := controller.Finished{Requeued: true, Reason: controller.ReasonEventDuringPass}
	equal(k, "finished", k.finish(c, terminal("no")), want)
	equal(k, "stalled", k.queue("a").Stalled, "")
	k.claim("a")
}

func retriesCount(k *kit) {
	retry := controller.Finish{Retry: true, After: lasts, Reason: controller.ReasonRetry}
	k.finish(k.started("a"), failed("no", 0))
	k.finish(k.claim("a"), retry)
	k.Advance(lasts)
	c := k.claim("a")
	equal(k, "errors", c.ConsecutiveErrors, 1)
	equal(k, "retries", c.Retries, 1)
	k.finish(c, retry)
	k.put("a", `{"n":2}`)
	c = k.claim("a")
	equal(k, "errors after a new spec", c.ConsecutiveErrors, 0)
	equal(k, "retries after a new spec", c.Retries, 0)
	k.finish(c, retry)
	k.Advance(lasts)
	k.finish(k.claim("a"), controller.Finish{Reason: controller.ReasonRequested})
	equal(k, "retries after success", k.claim("a").Retries, 0)
}

func resyncWaits(k *kit) {
	done := k.finish(k.started("a"), controller.Finish{Settle: true, Resync: time.Hour})
	equal(k, "finished", done, controller.Finished{Requeued: true, Reason: controller.ReasonResync, After: time.Hour})
	row := k.queue("a")
	equal(k, "state", row.State, controller.QueueDelayed)
	equal(k, "lane", row.Lane, controller.LaneBackground)
	k.Advance(time.Hour)
	k.claim("a")
}

func lanesOvertake(k *kit) {
	for _, key := range []string{"background", "event", "delayed"} {
		k.settle(k.started(key))
	}
	c := k.started("again")
	k.finish(k.started("later"), controller.Finish{After: time.Millisecond, Reason: controller.ReasonDelay})
	_, err := k.Store.RebuildQueue(k.Context()) // all in the background
	k.must(err)
	k.deliver(controller.Delivery{Keys: []string{"event"}})
	k.Advance(4 * time.Second)
	k.put("request", `{}`)
	k.finish(c, controller.Finish{Reason: controller.ReasonRequested}) // keeps its lane
	for _, want := range []string{"again", "request", "event"} {
		k.settle(k.claim(want))
	}
}

// ageingBound works on a queue to which more is added than it can do, in every
// lane, and checks that no key waits behind one that became due more than a
// minute after it.
func ageingBound(k *kit) {
	c := crowded{kit: k, random: rand.New(rand.NewPCG(1, 2)), due: map[string]time.Duration{}} //nolint:gosec // repeatable
	for i := range 60 {
		key := fmt.Sprintf("k%02d", i)
		k.settle(k.started(key))
		c.idle = append(c.idle, key)
	}
	for range 400 {
		c.add()
		c.work()
		k.Advance(time.Second)
		c.now += time.Second
	}
	if c.behind < 20 {
		k.Errorf("the queue was never far behind: %d keys", c.behind)
	}
}

// crowded is a queue to which more comes than is worked off.
type crowded struct {
	*kit
	random *rand.Rand
	now    time.Duration
	idle   []string
	due    map[string]time.Duration
	behind int
}

func (c *crowded) add() {
	for range c.random.IntN(4) {
		if len(c.idle) == 0 {
			return
		}
		c.wakeInLane(c.idle[0], controller.Lanes()[c.random.IntN(2)])
		c.due[c.idle[0]] = c.now
		c.idle = c.idle[1:]
	}
}

func (c *crowded) work() {
	claim := c.tryClaim()
	if claim == nil {
		return
	}
	key := claim.Ref.Key
	for other, since := range c.due {
		if c.due[key]-since > controller.LaneBackground.Offset() {
			c.Fatalf("%s, due at %s, came before %s, due at %s", key, c.due[key], other, since)
		}
	}
	c.behind = max(c.behind, len(c.due))
	delete(c.due, key)
	if c.random.IntN(3) > 0 {
		c.settle(claim)
		c.idle = append(c.idle, key)
		return
	}
	const resync = 10 * time.Second
	c.finish(claim, controller.Finish{Settle: true, Resync: resync})
	c.due[key] = c.now + resync
}

func (k *kit) wakeInLane(key string, lane controller.Lane) {
	k.Helper()
	if lane == controller.LaneRequest {
		k.enqueue(key)
	} else {
		k.deliver(controller.Delivery{Keys: []string{key}})
	}
}

func rebuilt(k *kit) {
	k.settle(k.started("settled"))
	k.finish(k.started("failed"), failed("no", time.Hour))
	k.put("suspended", `{}`)
	k.suspend("suspended", true)
	c := k.started("running")
	handled := k.queue("settled").Handled
	count, err := k.Store.RebuildQueue(k.Context())
	k.must(err)
	equal(k, "resources", count, 4)
	equal(k, "handled", k.queue("settled").Handled, handled)
	equal(k, "errors", k.queue("failed").ConsecutiveErrors, 0)
	equal(k, "suspended", k.queue("suspended").State, controller.QueueSuspended)
	equal(k, "reason", k.settle(c).Reason, controller.ReasonEventDuringPass)
	equal(k, "lane", k.queue("settled").Lane, controller.LaneBackground)
	var keys []string
	for c := k.tryClaim(); c != nil; c = k.tryClaim() {
		keys = append(keys, c.Ref.Key)
		k.settle(c)
	}
	equal(k, "worked off", len(keys), 3)
}
