package modeltest

import (
	"encoding/json"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"piworkflows/controller"
)

// modelKey is a key, its resource and its row, as the rules describe them.
type modelKey struct {
	spec int
	// version is that of the resource, guard the oldest from which a pass may write.
	version, guard, generation int64
	deleting                   bool
	finalizers                 int

	queued          bool
	lane            controller.Lane
	at              time.Duration
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

	effects  map[string]*modelEffect
	children map[string]*modelChild
	// shown is the request that the resource points to.
	shown string
}

type modelClaim struct {
	*controller.Claim
	expires time.Duration
	// seen counts the wake-ups until the claim.
	seen int64
}

// change raises the version. A pass that read an older one must not write.
func (k *modelKey) change() {
	k.version++
	k.guard = k.version
}

func (k *modelKey) current(version int64) bool { return k.guard <= version && version <= k.version }

// deletable reports whether nothing holds a deletion back.
func (k *modelKey) deletable() bool {
	if !k.deleting || k.finalizers > 0 || k.unfinished() {
		return false
	}
	for _, c := range k.children {
		if c.state == controller.RunPending || c.state == controller.RunRunning {
			return false
		}
	}
	return true
}

func (m *machine) put(t *rapid.T) {
	key, k := m.drawKey(t)
	spec, action := 1, controller.Created
	if k != nil {
		spec, action = k.spec, controller.Unchanged
		if !rapid.Bool().Draw(t, "same") {
			spec, action = k.spec+1, controller.Configured
		}
	}
	got, err := m.store(t).Put(t.Context(), controller.Put{Ref: refOf(key), Spec: json.RawMessage(strconv.Itoa(spec))})
	if !wants[*controller.DeletingError](t, err, k != nil && k.deleting) {
		return
	}
	if got.Action != action {
		t.Fatalf("put %s: %s, want %s", key, got.Action, action)
	}
	switch action {
	case controller.Created:
		m.made++
		k = &modelKey{made: m.made, effects: map[string]*modelEffect{}, children: map[string]*modelChild{}}
		m.keys[key] = k
	case controller.Unchanged:
		return
	case controller.Configured:
	}
	k.spec = spec
	k.change()
	k.generation++
	k.errors, k.retries = 0, 0
	m.wake(k, controller.LaneRequest)
}

func (m *machine) delete(t *rapid.T) {
	key, k := m.drawKey(t)
	done, err := m.store(t).RequestDeletion(t.Context(), controller.Deletion{Ref: refOf(key)})
	if !wants[*controller.NotFoundError](t, err, k == nil) {
		return
	}
	if !k.deleting {
		k.deleting = true
		k.change()
		k.cancelChildren("")
	}
	if gone := !m.held(k) && k.deletable(); gone != done.Deleted {
		t.Fatalf("delete %s: %v, want %v", key, done.Deleted, gone)
	}
	if done.Deleted {
		delete(m.keys, key)
		return
	}
	m.wake(k, controller.LaneRequest)
}

// goOrWake is what becomes of a key of which something has ended.
func (m *machine) goOrWake(key string, lane controller.Lane) {
	if k := m.keys[key]; !m.held(k) && k.deletable() {
		delete(m.keys, key)
	} else {
		m.wake(k, lane)
	}
}

func (m *machine) enqueue(t *rapid.T) {
	key, k := m.drawKey(t)
	count, err := m.store(t).Enqueue(t.Context(), refOf(key), "")
	if !wants[*controller.NotFoundError](t, err, k == nil) {
		return
	}
	m.wake(k, controller.LaneRequest)
	if count != k.wake {
		t.Fatalf("wake-up %d of %s, want %d", count, key, k.wake)
	}
}

func (m *machine) deliver(t *rapid.T) {
	key, k := m.drawKey(t)
	got, err := m.store(t).Deliver(t.Context(), owner, controller.Delivery{Source: "s", Keys: []string{key}})
	if err != nil || (got.Enqueued == 1) != (k != nil) {
		t.Fatalf("deliver %s: %+v, %v", key, got, err)
	}
	if k != nil {
		m.wake(k, controller.LaneEvent)
	}
}

func (m *machine) suspend(t *rapid.T) {
	if key, k := m.drawKey(t); k != nil {
		wantChange(t, !k.suspended)(m.store(t).Suspend(t.Context(), refOf(key), "ada", "why"))
		k.suspended = true
	}
}

func (m *machine) unsuspend(t *rapid.T) {
	key, k := m.drawKey(t)
	if k == nil {
		return
	}
	wantChange(t, k.suspended)(m.store(t).Unsuspend(t.Context(), refOf(key), "ada", ""))
	if k.suspended {
		k.suspended = false
		m.wake(k, controller.LaneRequest)
	}
}

func wantChange(t *rapid.T, want bool) func(bool, error) {
	return func(changed bool, err error) {
		if err != nil || changed != want {
			t.Fatalf("changed %v, %v; want %v", changed, err, want)
		}
	}
}

// rebuild throws the rows away that nobody works on.
func (m *machine) rebuild(t *rapid.T) {
	count, err := m.store(t).RebuildQueue(t.Context())
	if err != nil || count != len(m.keys) {
		t.Fatalf("rebuilt for %d resources, %v; want %d", count, err, len(m.keys))
	}
	for _, k := range m.keys {
		if k.holder == nil {
			k.queued, k.errors, k.retries = false, 0, 0
		}
		m.wake(k, controller.LaneBackground)
	}
}

func (m *machine) wake(k *modelKey, lane controller.Lane) {
	k.owed = true
	k.wake++
	k.wokenSince = k.holder != nil
	if !k.queued {
		k.lane = lane
	}
	k.lane = min(k.lane, lane)
	if !k.queued || m.now < k.at {
		k.queued, k.at = true, m.now
	}
}

// turn is when a key is to be claimed, later by the offset of its lane.
func (k *modelKey) turn() time.Duration { return k.at + k.lane.Offset() }

// due is the key that a claim must take: the one whose turn is the longest ago,
// in the faster lane, the oldest of several.
func (m *machine) due() string {
	best := ""
	for _, key := range modelKeys {
		k := m.keys[key]
		if k == nil || !k.queued || k.suspended || m.held(k) || k.at > m.now {
			continue
		}
		if best == "" || k.before(m.keys[best]) {
			best = key
		}
	}
	return best
}

func (k *modelKey) before(other *modelKey) bool {
	if k.turn() != other.turn() {
		return k.turn() < other.turn()
	}
	if k.lane != other.lane {
		return k.lane < other.lane
	}
	return k.made < other.made
}

func (m *machine) held(k *modelKey) bool { return k.holder != nil && k.holder.expires > m.now }

// checkQueue compares the row of a key.
func (m *machine) checkQueue(t *rapid.T, key string, k *modelKey) {
	got, err := m.store(t).Queue(t.Context(), refOf(key))
	must(t, err)
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

func (m *machine) state(k *modelKey) controller.QueueState {
	switch {
	case !k.queued:
		return controller.QueueNone
	case m.held(k):
		return controller.QueueClaimed
	case k.suspended:
		return controller.QueueSuspended
	case k.holder == nil && k.at > m.now:
		return controller.QueueDelayed
	}
	return controller.QueueReady
}
