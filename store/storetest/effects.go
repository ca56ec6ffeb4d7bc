package storetest

import (
	"strings"

	"piworkflows/controller"
)

var effectTests = []test{
	{"an effect is recorded before anything else", effectNew},
	{"an effect that exists is found", effectFound},
	{"an effect key has one meaning", effectConflicts},
	{"a finished effect never changes", effectFinal},
	{"what is known of an effect", effectOutcomes},
	{"effects are listed in order", effectList},
	{"effects refuse bad names", effectNames},
}

func reservation(key string) controller.EffectReservation {
	return controller.EffectReservation{
		Key: key, Kind: "git-merge", Generation: 1, RequestFingerprint: strings.Repeat("ab", 32),
	}
}

func (k *kit) reserve(c *controller.Claim, key string) (controller.EffectRecord, controller.Reservation) {
	k.Helper()
	r, found, err := k.Store.ReserveEffect(k.Context(), c, reservation(key))
	k.must(err)
	return r, found
}

func (k *kit) outcome(c *controller.Claim, key string, state controller.EffectState) controller.EffectRecord {
	k.Helper()
	r, err := k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{Key: key, State: state})
	k.must(err)
	return r
}

func (k *kit) effects(key string) []controller.EffectRecord {
	k.Helper()
	list, err := k.Store.Effects(k.Context(), ref(key))
	k.must(err)
	return list
}

func effectNew(k *kit) {
	c := k.started("a")
	r, found := k.reserve(c, "merge:1")
	equal(k, "found", found, controller.EffectNew)
	want := controller.EffectRecord{
		Key: "merge:1", ResourceUID: c.Resource.Metadata.UID, Generation: 1, Kind: "git-merge",
		RequestFingerprint: strings.Repeat("ab", 32), State: controller.EffectPending, Token: r.Token, StartedAt: r.StartedAt,
	}
	equal(k, "record", r, want)
	if r.Token == "" || r.StartedAt.IsZero() {
		k.Errorf("no token or no time in %+v", r)
	}
	equal(k, "stored", k.effects("a"), []controller.EffectRecord{want})
	equal(k, "payload", k.lastEvent("a", controller.EventEffectPending), map[string]any{
		"effectKey": "merge:1", "kind": "git-merge", "generation": 1.0, "state": "pending",
	})
}

func effectFound(k *kit) {
	c := k.started("a")
	first, _ := k.reserve(c, "e")
	k.quiet("a", func() {
		again, found := k.reserve(c, "e")
		equal(k, "found", found, controller.EffectOpen)
		equal(k, "record", again, first)
	})
	k.outcome(c, "e", controller.EffectIndeterminate)
	_, found := k.reserve(c, "e")
	equal(k, "found indeterminate", found, controller.EffectOpen)
	done := k.outcome(c, "e", controller.EffectApplied)
	equal(k, "token", done.Token, first.Token)
	again, found := k.reserve(c, "e")
	equal(k, "found applied", found, controller.EffectDone)
	equal(k, "record", again, done)
}

func effectConflicts(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	for differs, change := range map[string]func(*controller.EffectReservation){
		"request":    func(e *controller.EffectReservation) { e.RequestFingerprint = "other" },
		"generation": func(e *controller.EffectReservation) { e.Generation++ },
		"kind":       func(e *controller.EffectReservation) { e.Kind = "other" },
	} {
		e := reservation("e")
		change(&e)
		k.quiet("a", func() {
			_, _, err := k.Store.ReserveEffect(k.Context(), c, e)
			equal(k, "conflict", *wantError[*controller.EffectConflictError](k, err),
				controller.EffectConflictError{Ref: ref("a"), Key: "e", Differs: differs})
		})
	}
}

func effectFinal(k *kit) {
	c := k.started("a")
	for _, final := range []controller.EffectState{controller.EffectApplied, controller.EffectRejected} {
		key := string(final)
		k.reserve(c, key)
		done := k.outcome(c, key, final)
		for _, state := range []controller.EffectState{
			controller.EffectPending, controller.EffectApplied, controller.EffectRejected, controller.EffectIndeterminate,
		} {
			k.quiet("a", func() {
				got, err := k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{
					Key: key, State: state, Error: "late", Event: controller.EventEffectApplied,
				})
				if state == final {
					k.must(err)
					equal(k, "record", got, done)
					return
				}
				wantKind[*controller.EffectConflictError](k, err)
			})
		}
	}
	equal(k, "effects", len(k.effects("a")), 2)
	if _, err := k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{Key: "never", State: controller.EffectApplied}); err == nil {
		k.Error("an effect that nobody reserved was finished")
	}
	k.reserve(c, "e")
	if _, err := k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{Key: "e", State: "done"}); err == nil {
		k.Error("an effect has a state that there is not")
	}
}

func effectOutcomes(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	got, err := k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{
		Key: "e", State: controller.EffectIndeterminate, ExternalRef: "r1", Error: "timed out",
		Event: controller.EventEffectIndeterminate,
	})
	k.must(err)
	equal(k, "state", got.State, controller.EffectIndeterminate)
	equal(k, "reference", got.ExternalRef, "r1")
	equal(k, "error", got.Error, "timed out")
	equal(k, "completed", got.CompletedAt, nil)
	equal(k, "payload", k.lastEvent("a", controller.EventEffectIndeterminate), map[string]any{
		"effectKey": "e", "kind": "git-merge", "generation": 1.0, "state": "indeterminate",
		"externalRef": "r1", "error": "timed out",
	})
	k.Advance(lasts / 2)
	got, err = k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{
		Key: "e", State: controller.EffectApplied, Event: controller.EventEffectRecovered,
	})
	k.must(err)
	equal(k, "kept reference", got.ExternalRef, "r1")
	equal(k, "cleared error", got.Error, "")
	if got.CompletedAt == nil || !got.CompletedAt.Equal(got.StartedAt.Add(lasts/2)) {
		k.Errorf("completed at %v, started at %v", got.CompletedAt, got.StartedAt)
	}
	equal(k, "stored", k.effects("a"), []controller.EffectRecord{got})
	k.lastEvent("a", controller.EventEffectRecovered)
}

func effectList(k *kit) {
	c := k.started("b")
	for _, key := range []string{"z", "a", "m"} {
		k.reserve(c, key)
	}
	var keys []string
	for _, e := range k.effects("b") {
		keys = append(keys, e.Key)
	}
	equal(k, "order", keys, []string{"z", "a", "m"})
}

func effectNames(k *kit) {
	c := k.started("a")
	bad := reservation("")
	_, _, err := k.Store.ReserveEffect(k.Context(), c, bad)
	wantKind[*controller.NameError](k, err)
	bad = reservation("e")
	bad.Kind = "no spaces"
	_, _, err = k.Store.ReserveEffect(k.Context(), c, bad)
	wantKind[*controller.NameError](k, err)
	equal(k, "effects", len(k.effects("a")), 0)
}
