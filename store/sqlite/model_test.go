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
	spec   int
	queued bool
	at     time.Time
	errors int
	// holder is the live or expired claim, wokenSince what arrived during it.
	holder     *modelClaim
	wokenSince bool
	// owed says that something happened that no pass has begun after.
	owed bool
}

type modelClaim struct {
	*controller.Claim
	store   *sqlite.Store
	expires time.Time
	// fresh says that the resource has not changed since the claim.
	fresh bool
}

// queueModel compares the queue, seen through two stores over one file, with a
// model of its rules.
type queueModel struct {
	stores []*sqlite.Store
	clock  *clocktest.Manual
	name   string
	keys   map[string]*modelKey
	claims []*modelClaim
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
			"put": m.put, "enqueue": m.enqueue, "claim": m.claim, "claim again": m.claim, "renew": m.renew,
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
		k = &modelKey{}
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
	k.errors = 0
	if k.holder != nil {
		k.holder.fresh = false
	}
	m.wake(k)
}

func (m *queueModel) mustPut(t *rapid.T, key string, spec int, want controller.PutAction) {
	got, err := m.store(t).Put(t.Context(), controller.Put{Ref: m.ref(key), Spec: json.RawMessage(strconv.Itoa(spec))})
	if err != nil || got.Action != want {
		t.Fatalf("put %s: %s, %v; want %s", key, got.Action, err, want)
	}
}

func (m *queueModel) enqueue(t *rapid.T) {
	key, k := m.drawKey(t)
	err := m.store(t).Enqueue(t.Context(), m.ref(key), "")
	if k == nil {
		if !errors.Is(err, controller.ErrNotFound) {
			t.Fatalf("enqueue of nothing: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.wake(k)
}

func (m *queueModel) wake(k *modelKey) {
	k.owed = true
	k.wokenSince = k.holder != nil
	if now := m.clock.Now(); !k.queued || now.Before(k.at) {
		k.queued, k.at = true, now
	}
}

// due is the key that a claim must take: the one that is due the longest, the
// first by name of several.
func (m *queueModel) due() string {
	best := ""
	for _, key := range modelKeys {
		k := m.keys[key]
		if k == nil || !k.queued || m.held(k) || k.at.After(m.clock.Now()) {
			continue
		}
		if best == "" || k.at.Before(m.keys[best].at) {
			best = key
		}
	}
	return best
}

func (m *queueModel) held(k *modelKey) bool {
	return k.holder != nil && k.holder.expires.After(m.clock.Now())
}

func (m *queueModel) claim(t *rapid.T) {
	s := m.store(t)
	for _, k := range m.keys {
		if k.queued && k.holder != nil && !m.held(k) && m.due() != "" {
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
	if c.Ref.Key != want || c.ConsecutiveErrors != k.errors || string(c.Resource.Spec) != strconv.Itoa(k.spec) {
		t.Fatalf("claimed %+v, want %s with %d errors and spec %d", c, want, k.errors, k.spec)
	}
	k.holder = &modelClaim{Claim: c, store: s, expires: m.clock.Now().Add(lasts), fresh: true}
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
		{KeepErrors: true, Reason: controller.ReasonStopped},
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
	fresh, now := k.holder.fresh, m.clock.Now()
	k.holder = nil
	switch {
	case f.Write != nil && !fresh:
		k.at = now
		return controller.Finished{Conflict: true, Requeued: true, Reason: controller.ReasonConflict}
	case f.Err != "":
		k.errors++
	case !f.KeepErrors:
		k.errors = 0
	}
	switch {
	case k.wokenSince && (f.Settle || f.After > 0):
		k.at = now
		return controller.Finished{Requeued: true, Reason: controller.ReasonEventDuringPass}
	case f.Settle:
		k.queued = false
		return controller.Finished{}
	}
	k.at = now.Add(f.After)
	return controller.Finished{Requeued: true, Reason: f.Reason}
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
		if want := m.state(k); got.State != want || want != controller.QueueNone && got.ConsecutiveErrors != k.errors {
			t.Fatalf("%s is %+v, want %s with %d errors", key, got, want, k.errors)
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
		if k := m.keys[key]; k != nil && k.queued {
			want = append(want, key)
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Fatalf("keys worked off at the end (-want +got):\n%s", diff)
	}
}
