package storetest

import (
	"piworkflows/controller"
	"piworkflows/lease"
)

// nextTests are for stores that are a controller.FinishClaimer.
var nextTests = []test{
	{"the end of a pass may claim the next key", nextClaims},
	{"the end of a pass may claim its own key again", nextAgain},
	{"the end of a pass claims nothing where nothing is due", nextNothing},
	{"a lost claim neither ends nor claims", nextLost},
}

// next ends a pass and claims for the usual controller.
func (k *kit) next(c *controller.Claim, f controller.Finish) (controller.Finished, *controller.Claim, error) {
	k.Helper()
	if _, ok := k.asked.Inner().(controller.FinishClaimer); !ok {
		k.Skip("the store ends passes and claims one after the other")
	}
	return k.asked.FinishAndClaim(k.Context(), c, f, []string{name}, lasts)
}

func nextClaims(k *kit) {
	c := k.started("a")
	k.put("b", `{"n":2}`)
	done, next, err := k.next(c, controller.Finish{Write: write(c, "done"), Settle: true})
	k.must(err)
	equal(k, "finished", done, controller.Finished{})
	equal(k, "status", string(k.get("a").Status.ControllerStatus), `{"phase":"done"}`)
	equal(k, "state", k.queue("a").State, controller.QueueNone)
	equal(k, "claimed", next.Ref, ref("b"))
	equal(k, "resource", next.Resource, k.get("b"))
	equal(k, "state", k.queue("b").State, controller.QueueClaimed)
	k.settle(next)
}

func nextAgain(k *kit) {
	c := k.started("a")
	_, next, err := k.next(c, failed("no", 0))
	k.must(err)
	equal(k, "claimed", next.Ref, ref("a"))
	equal(k, "errors", next.ConsecutiveErrors, 1)
	k.settle(next)
}

func nextNothing(k *kit) {
	c := k.started("a")
	k.putOf(controller.Ref{Controller: "other", Key: "b"}, `{}`)
	_, next, err := k.next(c, failed("no", lasts))
	k.must(err)
	if next != nil {
		k.Errorf("claimed %s", next.Ref)
	}
	equal(k, "state", k.queue("a").State, controller.QueueDelayed)
}

func nextLost(k *kit) {
	c := k.started("a")
	k.settle(c)
	k.put("b", `{}`)
	_, next, err := k.next(c, controller.Finish{Settle: true})
	k.wantLost(err, lease.Gone)
	if next != nil {
		k.Errorf("claimed %s", next.Ref)
	}
	equal(k, "state", k.queue("b").State, controller.QueueReady)
}
