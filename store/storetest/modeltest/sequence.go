package modeltest

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/store/storetest"
)

// machine compares a project, seen through two stores over one place, with the
// rules of the contracts, operation by operation.
type machine struct {
	harness storetest.Harness
	place   string
	stores  []storetest.Store

	now    time.Duration
	keys   map[string]*modelKey
	claims []*modelClaim
	runs   []*modelRun
	frozen bool
	made   int
	serial int64
	// agents is when the agent attempts are used up that were counted.
	agents time.Duration
}

// owner is the controller of all keys.
const owner = "c"

var modelKeys = []string{"a", "b", "c"}

// stretches make a check longer than rapid's flag for steps: what happens late
// needs a long story.
const stretches = 4

// followRules performs random operations and lets act compare what comes of them.
// Each check has a project of its own.
func followRules(t *testing.T, h storetest.Harness, act func(t *rapid.T, m *machine)) {
	t.Helper()
	rounds, place := 1, t.TempDir()
	if storetest.Stressed() {
		rounds = 100
	}
	var projects atomic.Int64
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			m := &machine{harness: h, place: place, keys: map[string]*modelKey{}}
			scope := storetest.Scope(strconv.FormatInt(projects.Add(1), 10))
			for range 2 {
				s, err := h.Open(t.Context(), place, scope)
				must(t, err)
				defer func() { must(t, s.Close()) }()
				m.stores = append(m.stores, s)
			}
			act(t, m)
		})
	}
}

// repeat performs actions in random order.
func repeat(t *rapid.T, actions map[string]func(*rapid.T)) {
	for range stretches {
		t.Repeat(actions)
	}
}

// keysFollowRules ends with everything done.
func keysFollowRules(t *rapid.T, m *machine) {
	repeat(t, m.actions())
	m.drain(t)
}

func runsFollowRules(t *rapid.T, m *machine) { repeat(t, m.people().actions()) }

// actions are all operations; those that give others something to do come more
// than once.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check, "advance": m.advance,
		"put": m.put, "put again": m.put, "enqueue": m.enqueue, "deliver": m.deliver, "delete": m.delete,
		"suspend": m.suspend, "unsuspend": m.unsuspend, "rebuild": m.rebuild,
		"claim": m.claim, "claim again": m.claim, "claim more": m.claim, "renew": m.renew,
		"finish": m.finish, "finish again": m.finish,
		"reserve effect": m.reserveEffect, "reserve effect again": m.reserveEffect,
		"finish effect": m.finishEffect, "finish effect again": m.finishEffect, "finish effect more": m.finishEffect,
		"check apply": m.checkApply, "resolve": m.resolve, "freeze": m.freeze, "unfreeze": m.unfreeze, "prune": m.prune,
		"reserve child": m.reserveChild, "cancel children": m.cancelOthers, "claim run": m.claimRun, "claim run again": m.claimRun,
		"answer child": m.answerChild, "answer child again": m.answerChild, "abandon child": m.abandonChild,
		"start child": m.startChild, "count agent": m.countAgent, "finish child": m.finishChild, "renew run": m.renewRun,
	}
}

func (m *machine) store(t *rapid.T) storetest.Store {
	return m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(t, "store")]
}

func (m *machine) drawKey(t *rapid.T) (string, *modelKey) {
	key := rapid.SampledFrom(modelKeys).Draw(t, "key")
	return key, m.keys[key]
}

func refOf(key string) controller.Ref { return controller.Ref{Controller: owner, Key: key} }

func (m *machine) advance(t *rapid.T) {
	m.pass(t, rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, lasts / 2, lasts}).Draw(t, "time"))
}

func (m *machine) pass(t *rapid.T, d time.Duration) {
	must(t, m.harness.Advance(m.place, d))
	m.now += d
}

// wants reports whether an operation is to succeed; otherwise its error must be of
// a kind.
func wants[E error](t *rapid.T, err error, refused bool) (succeeds bool) {
	t.Helper()
	if unless[E](t, err, refused) {
		must(t, err)
		return true
	}
	return false
}

// unless is wants for operations that may be refused in more than one way.
func unless[E error](t *rapid.T, err error, refused bool) (goesOn bool) {
	t.Helper()
	var kind E
	if errors.As(err, &kind) != refused {
		t.Fatalf("error %v, want a %T: %v", err, kind, refused)
	}
	return !refused
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holding reports whether a claim holds; otherwise the error must say that it is
// lost.
func (m *machine) holding(t *rapid.T, c *modelClaim, err error) bool {
	t.Helper()
	if k := m.keys[c.Ref.Key]; k != nil && k.holder == c && m.held(k) {
		return true
	}
	unless[*lease.LostError](t, err, true)
	return false
}

// check compares a key with the model, and makes sure that nothing that was asked
// for is forgotten.
func (m *machine) check(t *rapid.T) {
	key, k := m.drawKey(t)
	ctx, s := t.Context(), m.store(t)
	r, err := s.Get(ctx, refOf(key))
	if !wants[*controller.NotFoundError](t, err, k == nil) {
		return
	}
	if r.Metadata.ResourceVersion != k.version || r.Metadata.Generation != k.generation || r.Metadata.Deleting() != k.deleting ||
		len(r.Metadata.Finalizers) != k.finalizers {
		t.Fatalf("%s is %+v, want %+v", key, r.Metadata, k)
	}
	m.checkQueue(t, key, k)
	m.checkEffects(ctx, t, key, k)
	m.checkChildren(ctx, t, key, k)
	f, err := s.Frozen(ctx)
	if err != nil || (f != nil) != m.frozen {
		t.Fatalf("frozen %+v, %v; want %v", f, err, m.frozen)
	}
}

// drain works everything off: each run and each key comes once more at most.
func (m *machine) drain(t *rapid.T) {
	m.pass(t, 2*renewed)
	for m.runNext(t) {
	}
	var seen []string
	for waited := false; ; {
		c, err := m.stores[0].Claim(t.Context(), []string{owner}, lasts)
		must(t, err)
		if c == nil && waited {
			break
		}
		if c == nil { // keys whose claims have run out may back off
			m.pass(t, controller.BackoffMax)
			waited = true
			continue
		}
		seen = append(seen, c.Ref.Key)
		_, err = m.stores[0].Finish(t.Context(), c, controller.Finish{Settle: true})
		must(t, err)
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
