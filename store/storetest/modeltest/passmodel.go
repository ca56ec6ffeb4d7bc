package modeltest

import (
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/controller"
)

func (m *machine) claim(t *rapid.T) {
	c, err := m.store(t).Claim(t.Context(), []string{owner}, lasts)
	must(t, err)
	m.took(t, c)
}

// took compares what a claim took, if anything, with what it must take.
func (m *machine) took(t *rapid.T, c *controller.Claim) {
	m.expire()
	want := m.due()
	if c == nil || want == "" {
		if c != nil || want != "" {
			t.Fatalf("claimed %+v, want %q", c, want)
		}
		return
	}
	k := m.keys[want]
	if c.Ref.Key != want || c.ConsecutiveErrors != k.errors || c.Retries != k.retries || string(c.Resource.Spec) != strconv.Itoa(k.spec) {
		t.Fatalf("claimed %+v, want %s with %d errors and spec %d", c, want, k.errors, k.spec)
	}
	k.holder = &modelClaim{Claim: c, expires: m.now + lasts, seen: k.wake}
	k.wokenSince, k.owed = false, false
	m.claims = append(m.claims, k.holder)
}

// expire ends the claims that have run out, which count as errors: a claim does
// so that finds something, also if that is only a claim that has run out.
func (m *machine) expire() {
	for _, k := range m.keys {
		if k.queued && k.holder != nil && !m.held(k) {
			k.cutOff(m.now)
		}
	}
}

// cutOff is the rule for a claim that has run out: after another error in a row the
// key backs off, unless it was woken meanwhile.
func (k *modelKey) cutOff(now time.Duration) {
	if k.errors > 0 && !k.wokenSince {
		delay := controller.Backoff{Base: controller.BackoffBase, Max: controller.BackoffMax}.Delay(k.errors, 0)
		k.at = max(k.at, now+delay)
	}
	k.holder = nil
	k.errors++
}

// drawClaim takes a claim that was once made, mostly one that holds.
func (m *machine) drawClaim(t *rapid.T) *modelClaim {
	if len(m.claims) == 0 {
		t.Skip("no claim yet")
	}
	from := m.claims[max(0, len(m.claims)-4):]
	if rapid.IntRange(0, 4).Draw(t, "any") > 0 {
		if _, k := m.drawKey(t); k != nil && m.held(k) {
			return k.holder
		}
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, "claim")]
}

func (m *machine) renew(t *rapid.T) {
	c := m.drawClaim(t)
	err := m.store(t).Renew(t.Context(), c.Claim, renewed)
	if m.holding(t, c, err) {
		must(t, err)
		c.expires = m.now + renewed
	}
}

func (m *machine) finish(t *rapid.T) {
	c := m.drawClaim(t)
	f := rapid.SampledFrom([]controller.Finish{
		{Settle: true},
		{Settle: true, Unsettled: time.Second},
		{Reason: controller.ReasonRequested},
		{After: time.Second, Reason: controller.ReasonDelay},
		{After: 2 * time.Second, Reason: controller.ReasonErrorBackoff, Err: "no"},
		{KeepErrors: true, Reason: controller.ReasonStopped, Pass: controller.PassRecord{Type: controller.EventReleased}},
		{After: 2 * time.Second, Reason: controller.ReasonRetry, Retry: true},
		{Settle: true, Resync: time.Second},
		{Settle: true, Terminal: true, Err: "never", Pass: controller.PassRecord{Type: controller.EventFailed}},
	}).Draw(t, "finish")
	if f.Err == "" && !f.KeepErrors {
		m.serial++
		f.Write = &controller.Write{Version: c.Resource.Metadata.ResourceVersion, ObservedGeneration: m.serial}
		if rapid.Bool().Draw(t, "finalizer") {
			f.Write.Finalizers = []string{"f"}
		}
	}
	s := m.store(t)
	both, claims := s.(controller.FinishClaimer)
	claims = claims && rapid.Bool().Draw(t, "and claim")
	var done controller.Finished
	var next *controller.Claim
	var err error
	if claims {
		done, next, err = both.FinishAndClaim(t.Context(), c.Claim, f, []string{owner}, lasts)
	} else {
		done, err = s.Finish(t.Context(), c.Claim, f)
	}
	if !m.holding(t, c, err) {
		return
	}
	must(t, err)
	if diff := cmp.Diff(m.afterFinish(c.Ref.Key, f), done); diff != "" {
		t.Fatalf("finished (-want +got):\n%s", diff)
	}
	if claims {
		m.took(t, next)
	}
}

// afterFinish is the rule for the end of a pass.
func (m *machine) afterFinish(key string, f controller.Finish) controller.Finished {
	k := m.keys[key]
	seen := k.holder.seen
	k.holder = nil
	if f.Write != nil && !k.current(f.Write.Version) {
		k.at = m.now
		return controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict}
	}
	if f.Write != nil {
		k.finalizers = len(f.Write.Finalizers)
		k.change()
		if k.deletable() {
			delete(m.keys, key)
			return controller.Finished{Deleted: true}
		}
	}
	k.count(f, seen)
	return m.dispose(k, f)
}

// dispose is what becomes of the row of a key whose pass ended well.
func (m *machine) dispose(k *modelKey, f controller.Finish) controller.Finished {
	switch {
	case k.wokenSince && (f.Settle || f.After > 0):
		return m.again(k, 0, controller.ReasonEventDuringPass)
	case f.Settle && f.Unsettled > 0 && k.unfinished():
		k.lane = max(k.lane, controller.LaneEvent)
		return m.again(k, f.Unsettled, controller.ReasonEffectUnsettled)
	case f.Settle && f.Resync > 0:
		k.lane = controller.LaneBackground
		return m.again(k, f.Resync, controller.ReasonResync)
	case f.Settle:
		k.queued, k.errors, k.retries = false, 0, 0
		if f.Terminal {
			k.stalled = f.Err
		}
		return controller.Finished{}
	case f.After > 0:
		k.lane = max(k.lane, controller.LaneEvent)
	}
	return m.again(k, f.After, f.Reason)
}

// count keeps the counters of a key.
func (k *modelKey) count(f controller.Finish, seen int64) {
	if f.KeepErrors {
		return
	}
	k.handled, k.stalled = seen, ""
	switch {
	case f.Err != "":
		k.errors++
	case f.Retry:
		k.retries++
	default:
		k.errors, k.retries = 0, 0
	}
}

func (m *machine) again(k *modelKey, after time.Duration, reason controller.RequeueReason) controller.Finished {
	k.at = m.now + after
	return controller.Finished{Requeued: true, Reason: reason, After: after}
}
