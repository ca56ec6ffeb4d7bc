package modeltest

import (
	"context"
	"time"

	"pgregory.net/rapid"

	"piworkflows/controller"
	"piworkflows/lease"
)

// modelEffect is the record of an effect as the rules describe it.
type modelEffect struct {
	state controller.EffectState
	// owner is the claim that reserved it last.
	owner *modelClaim
	// next says that a person wants it applied without a look.
	next bool
	// attempts are those that are over, open one that is under way.
	attempts int
	open     bool
	cut      bool
}

var modelEffects = []string{"e", "f"}

func (k *modelKey) unfinished() bool {
	for _, e := range k.effects {
		if !e.state.Final() {
			return true
		}
	}
	return false
}

func (e *modelEffect) end() {
	if e.open {
		e.attempts++
	}
	e.open = false
}

func (m *machine) reserveEffect(t *rapid.T) {
	c, name := m.drawClaim(t), rapid.SampledFrom(modelEffects).Draw(t, "effect")
	r := reservation(name)
	r.Adopt = rapid.Bool().Draw(t, "adopt")
	record, found, err := m.store(t).ReserveEffect(t.Context(), c.Claim, r)
	if !m.holding(t, c, err) {
		return
	}
	must(t, err)
	k := m.keys[c.Ref.Key]
	want := k.reserve(name, c, r.Adopt)
	if want == controller.EffectNew && m.frozen {
		want = controller.EffectFrozen
	}
	if found != want || record.State != k.effects[name].state {
		t.Fatalf("found effect %s of %s %s and %s, want %s and %+v", name, c.Ref.Key, found, record.State, want, k.effects[name])
	}
}

func (k *modelKey) reserve(name string, c *modelClaim, adopt bool) controller.Reservation {
	e := k.effects[name]
	switch {
	case e == nil:
		k.effects[name] = &modelEffect{state: controller.EffectPending, owner: c, open: true}
		if adopt {
			return controller.EffectOpen
		}
		return controller.EffectNew
	case e.state.Final():
		return controller.EffectDone
	}
	found := controller.EffectOpen
	if e.next {
		found = controller.EffectNew
	}
	e.end()
	e.owner, e.next, e.open = c, false, true
	return found
}

func (m *machine) finishEffect(t *rapid.T) {
	c, name := m.drawClaim(t), rapid.SampledFrom(modelEffects).Draw(t, "effect")
	o := rapid.SampledFrom([]controller.EffectOutcome{
		{State: controller.EffectApplied}, {State: controller.EffectRejected},
		{State: controller.EffectIndeterminate}, {State: controller.EffectIndeterminate},
		{State: controller.EffectPending, Outcome: controller.OutcomeNotApplied},
		{State: controller.EffectPending, Outcome: controller.OutcomeNotApplied, Applies: true},
	}).Draw(t, "outcome")
	o.Key = name
	if k := m.keys[c.Ref.Key]; k != nil && k.effects[name] == nil {
		t.Skip("no such effect")
	}
	_, err := m.store(t).FinishEffect(t.Context(), c.Claim, o)
	if !m.holding(t, c, err) {
		return
	}
	e := m.keys[c.Ref.Key].effects[name]
	switch {
	case e.state.Final():
		wants[*controller.EffectConflictError](t, err, e.state != o.State)
	case !unless[*lease.LostError](t, err, e.owner != c):
	case wants[*controller.FrozenError](t, err, o.Applies && m.frozen):
		e.end()
		e.state, e.open = o.State, o.Applies
	}
}

func (m *machine) checkApply(t *rapid.T) {
	c := m.drawClaim(t)
	err := m.store(t).CheckApply(t.Context(), c.Claim)
	if m.holding(t, c, err) {
		wants[*controller.FrozenError](t, err, m.frozen)
	}
}

func (m *machine) resolve(t *rapid.T) {
	key, k := m.drawKey(t)
	v := controller.Verdict{
		Effect: rapid.SampledFrom(modelEffects).Draw(t, "effect"), Kind: rapid.SampledFrom(controller.Verdicts()).Draw(t, "verdict"),
		Actor: "ada", Reason: "I looked",
	}
	_, err := m.store(t).ResolveEffect(t.Context(), refOf(key), v)
	if !unless[*controller.NotFoundError](t, err, k == nil) {
		return
	}
	e := k.effects[v.Effect]
	switch {
	case !unless[*controller.EffectNotFoundError](t, err, e == nil):
	case !unless[*controller.EffectResolvedError](t, err, e.state.Final()):
	case wants[*controller.EffectBusyError](t, err, m.held(k)):
		e.end()
		e.attempts++ // the verdict is one
		e.owner, e.next = nil, v.Kind == controller.VerdictNotApplied
		e.state = map[controller.VerdictKind]controller.EffectState{
			controller.VerdictApplied: controller.EffectApplied, controller.VerdictAbandon: controller.EffectRejected,
			controller.VerdictNotApplied: controller.EffectPending,
		}[v.Kind]
		m.goOrWake(key, controller.LaneRequest)
	}
}

func (m *machine) freeze(t *rapid.T) {
	wantChange(t, !m.frozen)(m.store(t).Freeze(t.Context(), "ada", "why"))
	m.frozen = true
}

func (m *machine) unfreeze(t *rapid.T) {
	wantChange(t, m.frozen)(m.store(t).Unfreeze(t.Context(), "ada", ""))
	for _, k := range m.keys {
		if m.frozen && k.unfinished() {
			m.wake(k, controller.LaneRequest)
		}
	}
	m.frozen = false
}

// prune cuts all finished effects.
func (m *machine) prune(t *rapid.T) {
	done, err := m.store(t).PruneEffects(t.Context(), controller.EffectPruning{Before: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)})
	want := 0
	for _, k := range m.keys {
		for _, e := range k.effects {
			if e.state.Final() && !e.cut {
				e.cut, e.attempts = true, 0
				want++
			}
		}
	}
	if err != nil || done != want {
		t.Fatalf("cut %d effects, %v; want %d", done, err, want)
	}
}

// checkEffects compares the records of a key.
func (m *machine) checkEffects(ctx context.Context, t *rapid.T, key string, k *modelKey) {
	s := m.store(t)
	list, err := s.Effects(ctx, refOf(key))
	if err != nil || len(list) != len(k.effects) {
		t.Fatalf("%s has effects %+v, %v; want %d", key, list, err, len(k.effects))
	}
	for _, r := range list {
		e := k.effects[r.Key]
		if r.State != e.state || (r.Token == "") != e.cut || (r.CompletedAt != nil) != e.state.Final() {
			t.Fatalf("effect %s of %s is %+v, want %+v", r.Key, key, r, e)
		}
		attempts, err := s.EffectAttempts(ctx, refOf(key), r.Key)
		want := e.attempts
		if e.open {
			want++
		}
		if err != nil || len(attempts) != want {
			t.Fatalf("attempts for effect %s of %s: %+v, %v; want %d", r.Key, key, attempts, err, want)
		}
	}
}
