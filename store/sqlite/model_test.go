package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/store/sqlite"
)

// modelKey is a key of the queue as the rules describe it.
type modelKey struct {
	spec            int
	queued          bool
	lane            controller.Lane
	at              time.Time
	errors, retries int
	wake, handled   int64
	suspended       bool
	stalled         string
	// holder is the live or expired claim, wokenSince what arrived during it.
	holder     *modelClaim
	wokenSince bool
	// made is how many resources were made until this one.
	made int
	// owed says that something happened that no pass has begun after.
	owed bool
}

type modelClaim struct {
	*controller.Claim
	store   *sqlite.Store
	expires time.Time
	// fresh says that the resource has not changed since the claim.
	fresh bool
	// seen counts the wake-ups until the claim.
	seen int64
}

// queueModel compares the queue, seen through two stores over one file, with a
// model of its rules.
type queueModel struct {
	stores []*sqlite.Store
	clock  *clocktest.Manual
	name   string
	keys   map[string]*modelKey
	claims []*modelClaim
	made   int
}

var modelKeys = []string{"a", "b", "c"}

// TestQueueFollowsItsModel runs random operations. Each check has a controller
// of its own in one file.
func TestQueueFollowsItsModel(t *testing.T) {
	t.Parallel()
	o := options(t)
	stores := []*sqlite.Store{open(t, o), open(t, o)}
	var count atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		m := &queueModel{
			stores: stores, clock: o.Clock.(*clocktest.Manual), name: fmt.Sprint("c", count.Add(1)),
			keys: map[string]*modelKey{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": m.put, "enqueue": m.enqueue, "deliver": m.deliver, "claim": m.claim, "claim again": m.claim,
			"renew": m.renew, "suspend": m.suspend, "unsuspend": m.unsuspend,
			"finish": m.finish, "finish again": m.finish, "advance": m.advance, "": m.check,
		})
		m.drain(t)
	})
}

func (m *queueModel) ref(key string) controller.Ref {
	return controller.Ref{Controller: m.name, Key: key}
}

func (m *queueModel) store(t *rapid.T) *sqlite.Store {
	return rapid.SampledFrom(m.stores).Draw(t, "store")
}

func (m *queueModel) drawKey(t *rapid.T) (string, *modelKey) {
	key := rapid.SampledFrom(modelKeys).Draw(t, "key")
	return key, m.keys[key]
}

func (m *queueModel) put(t *rapid.T) {
	key, k := m.drawKey(t)
	if k == nil {
		m.made++
		k = &modelKey{made: m.made}
		m.keys[key] = k
	} else if rapid.Bool().Draw(t, "same") {
		m.mustPut(t, key, k.spec, controller.Unchanged)
		return
	}
	action := controller.Configured
	if k.spec == 0 {
		action = controller.Created
	}
	k.spec++
	m.mustPut(t, key, k.spec, action)
	k.errors, k.retries = 0, 0
	if k.holder != nil {
		k.holder.fresh = false
	}
	m.wake(k, controller.LaneRequest)
}

func (m *queueModel) mustPut(t *rapid.T, key string, spec int, want controller.PutAction) {
	got, err := m.store(t).Put(t.Context(), controller.Put{Ref: m.ref(key), Spec: json.RawMessage(strconv.Itoa(spec))})
	if err != nil || got.Action != want {
		t.Fatalf("put %s: %s, %v; want %s", key, got.Action, err, want)
	}
}

func (m *queueModel) enqueue(t *rapid.T) {
	key, k := m.drawKey(t)
	count, err := m.store(t).Enqueue(t.Context(), m.ref(key), "")
	if k == nil {
		if !errors.Is(err, controller.ErrNotFound) {
			t.Fatalf("enqueue of nothing: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.wake(k, controller.LaneRequest)
	if count != k.wake {
		t.Fatalf("wake-up %d of %s, want %d", count, key, k.wake)
	}
}

func (m *queueModel) deliver(t *rapid.T) {
	key, k := m.drawKey(t)
	got, err := m.store(t).Deliver(t.Context(), m.name, controller.Delivery{Source: "s", Keys: []string{key}})
	if err != nil || (got.Enqueued == 1) != (k != nil) {
		t.Fatalf("deliver %s: %+v, %v", key, got, err)
	}
	if k != nil {
		m.wake(k, controller.LaneEvent)
	}
}

func (m *queueModel) suspend(t *rapid.T) {
	if key, k := m.drawKey(t); k != nil {
		m.wantChange(t, !k.suspended)(m.store(t).Suspend(t.Context(), m.ref(key), "ada", "why"))
		k.suspended = true
	}
}

func (m *queueModel) unsuspend(t *rapid.T) {
	key, k := m.drawKey(t)
	if k == nil {
		return
	}
	m.wantChange(t, k.suspended)(m.store(t).Unsuspend(t.Context(), m.ref(key), "ada", ""))
	if k.suspended {
		k.suspended = false
		m.wake(k, controller.LaneRequest)
	}
}

func (m *queueModel) wantChange(t *rapid.T, want bool) func(bool, error) {
	return func(changed bool, err error) {
		if err != nil || changed != want {
			t.Fatalf("changed %v, %v; want %v", changed, err, want)
		}
	}
}

func (m *queueModel) wake(k *modelKey, lane controller.Lane) {
	k.owed = true
	k.wake++
	k.wokenSince = k.holder != nil
	if !k.queued {
		k.lane = lane
	}
	k.lane = min(k.lane, lane)
	if now := m.clock.Now(); !k.queued || now.Before(k.at) {
		k.queued, k.at = true, now
	}
}

// turn is when a key is to be claimed, later by the offset of its lane.
func (k *modelKey) turn() time.Time { return k.at.Add(k.lane.Offset()) }

// due is the key that a claim must take: the one whose turn is the longest ago,
// in the faster lane, the oldest of several.
func (m *queueModel) due() string {
	best := ""
	for _, key := range modelKeys {
		k := m.keys[key]
		if k == nil || !k.queued || k.suspended || m.held(k) || k.at.After(m.clock.Now()) {
			continue
		}
		if best == "" || k.before(m.keys[best]) {
			best = key
		}
	}
	return best
}

func (k *modelKey) before(other *modelKey) bool {
	if !k.turn().Equal(other.turn()) {
		return k.turn().Before(other.turn())
	}
	if k.lane != other.lane {
		return k.lane < other.lane
	}
	return k.made < other.made
}

func (m *queueModel) held(k *modelKey) bool {
	return k.holder != nil && k.holder.expires.After(m.clock.Now())
}

func (m *queueModel) claim(t *rapid.T) {
	s := m.store(t)
	for _, k := range m.keys {
		if k.queued && k.holder != nil && !m.held(k) && m.anythingDue() {
			k.holder = nil
			k.errors++
		}
	}
	want := m.due()
	c, err := s.Claim(t.Context(), []string{m.name}, lasts)
	if err != nil {
		t.Fatal(err)
	}
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
	k.holder = &modelClaim{Claim: c, store: s, expires: m.clock.Now().Add(lasts), fresh: true, seen: k.wake}
	k.wokenSince, k.owed = false, false
	m.claims = append(m.claims, k.holder)
}

// drawClaim takes a claim that was once made, mostly one of the last.
func (m *queueModel) drawClaim(t *rapid.T) (*modelClaim, *modelKey) {
	if len(m.claims) == 0 {
		t.Skip("no claim yet")
	}
	back := rapid.IntRange(0, min(3, len(m.claims)-1)).Draw(t, "back")
	c := m.claims[len(m.claims)-1-back]
	return c, m.keys[c.Ref.Key]
}

func (m *queueModel) wantLost(t *rapid.T, what string, err error) {
	if lost := (*lease.LostError)(nil); !errors.As(err, &lost) {
		t.Fatalf("%s with a lost claim: %v", what, err)
	}
}

func (m *queueModel) renew(t *rapid.T) {
	c, k := m.drawClaim(t)
	err := c.store.Renew(t.Context(), c.Claim, lasts)
	if k.holder != c || !m.held(k) {
		m.wantLost(t, "renew", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c.expires = m.clock.Now().Add(lasts)
}

func (m *queueModel) finish(t *rapid.T) {
	c, k := m.drawClaim(t)
	f := rapid.SampledFrom([]controller.Finish{
		{Settle: true},
		{Reason: controller.ReasonRequested},
		{After: time.Second, Reason: controller.ReasonDelay},
		{After: 2 * time.Second, Reason: controller.ReasonErrorBackoff, Err: "no"},
		{KeepErrors: true, Reason: controller.ReasonStopped, Pass: controller.PassRecord{Type: controller.EventReleased}},
		{After: 2 * time.Second, Reason: controller.ReasonRetry, Retry: true},
		{Settle: true, Resync: time.Second},
		{Settle: true, Terminal: true, Err: "never", Pass: controller.PassRecord{Type: controller.EventFailed}},
	}).Draw(t, "finish")
	if f.Err == "" && !f.KeepErrors {
		f.Write = &controller.Write{Version: c.Resource.Metadata.ResourceVersion, ObservedGeneration: int64(len(m.claims))}
	}
	done, err := c.store.Finish(t.Context(), c.Claim, f)
	if k.holder != c || !m.held(k) {
		m.wantLost(t, "finish", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.afterFinish(k, f), done); diff != "" {
		t.Fatalf("finished (-want +got):\n%s", diff)
	}
}

// afterFinish is the rule for the end of a pass.
func (m *queueModel) afterFinish(k *modelKey, f controller.Finish) controller.Finished {
	fresh, seen, now := k.holder.fresh, k.holder.seen, m.clock.Now()
	k.holder = nil
	switch {
	case f.Write != nil && !fresh:
		k.at = now
		return controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict}
	case f.Err != "":
		k.errors++
	case f.Retry:
		k.retries++
	case !f.KeepErrors:
		k.errors, k.retries = 0, 0
	}
	if !f.KeepErrors {
		k.handled, k.stalled = seen, ""
	}
	switch {
	case k.wokenSince && (f.Settle || f.After > 0):
		k.at = now
		return controller.Finished{Requeued: true, Reason: controller.ReasonEventDuringPass}
	case f.Settle && f.Resync > 0:
		k.lane, k.at = controller.LaneBackground, now.Add(f.Resync)
		return controller.Finished{Requeued: true, Reason: controller.ReasonResync, After: f.Resync}
	case f.Settle:
		k.queued, k.errors, k.retries = false, 0, 0
		if f.Terminal {
			k.stalled = f.Err
		}
		return controller.Finished{}
	case f.After > 0:
		k.lane = max(k.lane, controller.LaneEvent)
	}
	k.at = now.Add(f.After)
	return controller.Finished{Requeued: true, Reason: f.Reason, After: f.After}
}

// anythingDue reports whether a claim looks closer: it does if something is due or
// a claim has run out.
func (m *queueModel) anythingDue() bool {
	for _, k := range m.keys {
		if k.queued && k.holder != nil && !m.held(k) {
			return true
		}
	}
	return m.due() != ""
}

func (m *queueModel) advance(t *rapid.T) {
	m.clock.Advance(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, lasts / 2, lasts,
	}).Draw(t, "time"))
}

// check compares every row with the model, and makes sure that nothing that was
// asked for is forgotten.
func (m *queueModel) check(t *rapid.T) {
	for key, k := range m.keys {
		got, err := m.store(t).Queue(t.Context(), m.ref(key))
		if err != nil {
			t.Fatal(err)
		}
		if want := m.state(k); got.State != want || want != controller.QueueNone &&
			(got.ConsecutiveErrors != k.errors || got.Retries != k.retries || got.Lane != k.lane) {
			t.Fatalf("%s is %+v, want %s with %d errors, %d retries, in lane %s", key, got, want, k.errors, k.retries, k.lane)
		}
		if got.Wake != k.wake || got.Handled != k.handled || got.Stalled != k.stalled || (got.Suspension != nil) != k.suspended {
			t.Fatalf("%s is %+v, want %+v", key, got, k)
		}
		if k.owed && got.State == controller.QueueNone {
			t.Fatalf("a wake-up of %s was lost", key)
		}
	}
}

func (m *queueModel) state(k *modelKey) controller.QueueState {
	switch {
	case !k.queued:
		return controller.QueueNone
	case m.held(k):
		return controller.QueueClaimed
	case k.suspended:
		return controller.QueueSuspended
	case k.holder == nil && k.at.After(m.clock.Now()):
		return controller.QueueDelayed
	}
	return controller.QueueReady
}

// drain works everything off: each key comes once more at most.
func (m *queueModel) drain(t *rapid.T) {
	m.clock.Advance(2 * lasts)
	var seen []string
	for {
		c, err := m.stores[0].Claim(t.Context(), []string{m.name}, lasts)
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			break
		}
		seen = append(seen, c.Ref.Key)
		if _, err := m.stores[0].Finish(t.Context(), c, controller.Finish{Settle: true}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(seen)
	var want []string
	for _, key := range modelKeys {
		if k := m.keys[key]; k != nil && k.queued && !k.suspended {
			want = append(want, key)
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Fatalf("keys worked off at the end (-want +got):\n%s", diff)
	}
}
