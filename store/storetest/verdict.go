package storetest

import (
	"piworkflows/controller"
)

var verdictTests = []test{
	{"a verdict ends an uncertainty", verdictEnds},
	{"an effect that is not applied is applied without a look", verdictNotApplied},
	{"verdicts that are refused", verdictRefused},
	{"effects of the project are listed", effectsOfProject},
	{"a freeze keeps effects from being applied", freezeKeeps},
	{"a freeze belongs to its project", freezeIsOfItsProject},
}

func (k *kit) resolve(key, effect string, kind controller.VerdictKind) (controller.EffectRecord, error) {
	k.Helper()
	return k.Store.ResolveEffect(k.Context(), ref(key), controller.Verdict{Effect: effect, Kind: kind, Actor: "ada", Reason: "I looked"})
}

// doubtful leaves an effect e of which nobody knows how it ended.
func (k *kit) doubtful(key string) {
	k.Helper()
	c := k.started(key)
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectIndeterminate)
	k.finish(c, controller.Finish{After: lasts, Reason: controller.ReasonEffectUnsettled})
}

func verdictEnds(k *kit) {
	for kind, want := range map[controller.VerdictKind]controller.EffectState{
		controller.VerdictApplied: controller.EffectApplied, controller.VerdictAbandon: controller.EffectRejected,
	} {
		key := string(kind)
		k.doubtful(key)
		r, err := k.resolve(key, "e", kind)
		k.must(err)
		equal(k, "state", r.State, want)
		equal(k, "stored", k.effects(key), []controller.EffectRecord{r})
		if r.CompletedAt == nil {
			k.Error("it has no end")
		}
		equal(k, "payload", k.lastEvent(key, controller.EventEffectResolved), map[string]any{
			"effectKey": "e", "state": string(want), "verdict": string(kind), "actor": "ada", "reason": "I looked",
		})
		c := k.claim(key) // woken, although it was delayed
		_, found := k.reserve(c, "e")
		equal(k, "found", found, controller.EffectDone)
		k.settle(c)
		_, err = k.resolve(key, "e", kind)
		equal(k, "state in the error", wantError[*controller.EffectResolvedError](k, err).State, want)
	}
}

func verdictNotApplied(k *kit) {
	k.doubtful("a")
	r, err := k.resolve("a", "e", controller.VerdictNotApplied)
	k.must(err)
	equal(k, "state", r.State, controller.EffectPending)
	c := k.claim("a")
	again, found := k.reserve(c, "e")
	equal(k, "found", found, controller.EffectNew)
	equal(k, "token", again.Token, r.Token)
	_, found = k.reserve(c, "e") // a pass that was killed in between looks again
	equal(k, "found the second time", found, controller.EffectOpen)
}

func verdictRefused(k *kit) {
	k.doubtful("a")
	k.quiet("a", func() {
		_, err := k.resolve("a", "other", controller.VerdictApplied)
		wantKind[*controller.EffectNotFoundError](k, err)
		_, err = k.resolve("never", "e", controller.VerdictApplied)
		wantKind[*controller.NotFoundError](k, err)
		for _, v := range []controller.Verdict{
			{Effect: "e", Kind: "maybe", Actor: "ada", Reason: "r"}, {Effect: "e", Kind: controller.VerdictApplied, Actor: "ada"},
			{Effect: "e", Kind: controller.VerdictApplied, Reason: "r"},
		} {
			_, err = k.Store.ResolveEffect(k.Context(), ref("a"), v)
			wantKind[*controller.VerdictError](k, err)
		}
	})
	k.enqueue("a")
	k.claim("a")
	_, err := k.resolve("a", "e", controller.VerdictApplied)
	wantKind[*controller.EffectBusyError](k, err)
}

func effectsOfProject(k *kit) {
	for _, key := range []string{"a", "b"} {
		c := k.started(key)
		k.reserve(c, "one")
		k.outcome(c, "one", controller.EffectApplied)
		k.reserve(c, "two")
		k.settle(c)
	}
	list := func(q controller.EffectQuery) (names []string) {
		k.Helper()
		items, err := k.Store.ListEffects(k.Context(), q)
		k.must(err)
		for _, item := range items {
			names = append(names, item.Ref.Key+"/"+item.EffectRecord.Key)
		}
		return names
	}
	equal(k, "all", list(controller.EffectQuery{}), []string{"b/two", "b/one", "a/two", "a/one"})
	equal(k, "newest", list(controller.EffectQuery{Limit: 1}), []string{"b/two"})
	first, err := k.Store.ListEffects(k.Context(), controller.EffectQuery{Limit: 3})
	k.must(err)
	equal(k, "after a page", list(controller.EffectQuery{Continue: first[2].Continue}), []string{"a/one"})
	equal(k, "of a key", list(controller.EffectQuery{Controller: name, Key: "a"}), []string{"a/two", "a/one"})
	equal(k, "in a state", list(controller.EffectQuery{State: controller.EffectPending}), []string{"b/two", "a/two"})
	equal(k, "of another project", len(k.peer("other").effectItems()), 0)
	_, err = k.Store.ListEffects(k.Context(), controller.EffectQuery{Limit: 1001})
	wantKind[*controller.LimitError](k, err)
}

func (k *kit) effectItems() []controller.EffectItem {
	k.Helper()
	items, err := k.Store.ListEffects(k.Context(), controller.EffectQuery{})
	k.must(err)
	return items
}

func freezeKeeps(k *kit) {
	k.doubtful("a")
	k.settle(k.started("idle"))
	freeze := func(want bool) {
		k.Helper()
		changed, err := k.Store.Freeze(k.Context(), "ada", "incident")
		k.must(err)
		equal(k, "frozen", changed, want)
	}
	freeze(true)
	freeze(false)
	f, err := k.Store.Frozen(k.Context())
	k.must(err)
	if f == nil || f.Actor != "ada" || f.Reason != "incident" || f.At.IsZero() {
		k.Errorf("freeze %+v", f)
	}
	k.enqueue("a")
	c := k.claim("a")
	equal(k, "freeze in the error", wantError[*controller.FrozenError](k, k.Store.CheckApply(k.Context(), c)).Freeze, *f)
	_, found := k.reserve(c, "e")
	equal(k, "found", found, controller.EffectOpen)
	_, found = k.reserve(c, "f")
	equal(k, "found for another", found, controller.EffectFrozen)
	_, found = k.reserve(c, "f")
	equal(k, "found the second time", found, controller.EffectOpen)
	k.finish(c, controller.Finish{After: lasts, Reason: controller.ReasonFrozenProject, Retry: true})

	changed, err := k.Store.Unfreeze(k.Context(), "grace", "over")
	k.must(err)
	equal(k, "unfrozen", changed, true)
	k.must(k.Store.CheckApply(k.Context(), k.claim("a"))) // woken
	k.wantNoClaim()
	changed, err = k.Store.Unfreeze(k.Context(), "grace", "over")
	k.must(err)
	equal(k, "unfrozen again", changed, false)
	var told []controller.Event
	for _, e := range k.events(controller.EventQuery{Limit: 1000}) {
		if e.Ref == (controller.Ref{}) {
			told = append(told, e)
		}
	}
	if len(told) != 2 || told[0].Type != controller.EventFrozen || told[1].Type != controller.EventUnfrozen {
		k.Fatalf("events of the project %+v", told)
	}
	equal(k, "freeze", string(told[0].Payload), `{"actor":"ada","reason":"incident"}`)
	equal(k, "unfreeze", string(told[1].Payload), `{"actor":"grace","reason":"over"}`)
}

func freezeIsOfItsProject(k *kit) {
	_, err := k.peer("other").Store.Freeze(k.Context(), "ada", "")
	k.must(err)
	f, err := k.Store.Frozen(k.Context())
	k.must(err)
	equal(k, "freeze", f, nil)
	c := k.started("a")
	k.must(k.Store.CheckApply(k.Context(), c))
	_, found := k.reserve(c, "e")
	equal(k, "found", found, controller.EffectNew)
}
