package storetest

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"piworkflows/controller"
	"piworkflows/lease"
)

var attemptTests = []test{
	{"every call for an effect is an attempt", attemptsTold},
	{"an attempt whose pass went away has no known outcome", attemptLost},
	{"a call that was withheld is no attempt", attemptWithheld},
	{"a verdict is an attempt with its author and reason", attemptVerdict},
	{"the attempts of an effect are bounded", attemptsBounded},
	{"an effect belongs to the pass that reserved it", effectOwned},
	{"an adopted effect is observed before it is applied", effectAdopted},
	{"an effect that is only observed is never new", effectObserveOnly},
	{"a frozen project does not let a pass go on to apply", attemptFrozen},
	{"old finished effects are cut and never made again", effectsCut},
	{"cutting stops at its limit and at its project", effectsCutBounded},
}

// attempts of an effect of the resource a.
func (k *kit) attempts(effect string) []controller.EffectAttempt {
	k.Helper()
	list, err := k.Store.EffectAttempts(k.Context(), ref("a"), effect)
	k.must(err)
	return list
}

// told are attempts without their times.
func told(list []controller.EffectAttempt) []controller.EffectAttempt {
	out := make([]controller.EffectAttempt, len(list))
	for i, a := range list {
		a.StartedAt, a.EndedAt = time.Time{}, nil
		out[i] = a
	}
	return out
}

func (k *kit) know(c *controller.Claim, o controller.EffectOutcome) controller.EffectRecord {
	k.Helper()
	r, err := k.Store.FinishEffect(k.Context(), c, o)
	k.must(err)
	return r
}

func attemptsTold(k *kit) {
	c := k.started("a")
	first, _ := k.reserve(c, "e")
	open := k.attempts("e")
	equal(k, "under way", open, []controller.EffectAttempt{{Number: 1, Action: controller.ActionApply, StartedAt: first.StartedAt}})
	k.Advance(time.Second)
	k.know(c, controller.EffectOutcome{Key: "e", State: controller.EffectIndeterminate, Error: "cut off"})
	k.reserve(c, "e")
	k.know(c, controller.EffectOutcome{
		Key: "e", State: controller.EffectPending, Outcome: controller.OutcomeNotApplied, Applies: true,
	})
	k.outcome(c, "e", controller.EffectApplied)
	list := k.attempts("e")
	equal(k, "attempts", told(list), []controller.EffectAttempt{
		{Number: 1, Action: controller.ActionApply, Outcome: controller.OutcomeIndeterminate, Error: "cut off"},
		{Number: 2, Action: controller.ActionObserve, Outcome: controller.OutcomeNotApplied},
		{Number: 3, Action: controller.ActionApply, Outcome: controller.OutcomeApplied},
	})
	if list[0].EndedAt == nil || !list[0].EndedAt.Equal(list[0].StartedAt.Add(time.Second)) {
		k.Errorf("the first attempt was from %v to %v, want one second", list[0].StartedAt, list[0].EndedAt)
	}
	k.outcome(c, "e", controller.EffectApplied) // the same again is no call
	equal(k, "count", len(k.attempts("e")), 3)
	_, err := k.Store.EffectAttempts(k.Context(), ref("a"), "never")
	wantKind[*controller.EffectNotFoundError](k, err)
	_, err = k.Store.EffectAttempts(k.Context(), ref("never"), "e")
	wantKind[*controller.NotFoundError](k, err)
}

func attemptLost(k *kit) {
	k.reserve(k.started("a"), "e")
	k.Advance(lasts)
	k.reserve(k.claim("a"), "e")
	equal(k, "attempts", told(k.attempts("e")), []controller.EffectAttempt{
		{Number: 1, Action: controller.ActionApply, Outcome: controller.OutcomeUnknown},
		{Number: 2, Action: controller.ActionObserve},
	})
	equal(k, "end of the first", k.attempts("e")[0].EndedAt, nil)
}

func attemptWithheld(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	withhold := func(c *controller.Claim) {
		k.Helper()
		k.know(c, controller.EffectOutcome{Key: "e", State: controller.EffectPending, Outcome: controller.OutcomeWithheld})
	}
	withhold(c)
	equal(k, "attempts", len(k.attempts("e")), 0)
	k.reserve(c, "e")
	k.outcome(c, "e", controller.EffectIndeterminate)
	k.settle(c)
	_, err := k.resolve("a", "e", controller.VerdictNotApplied)
	k.must(err)
	c = k.claim("a")
	_, found := k.reserve(c, "e")
	equal(k, "found after the verdict", found, controller.EffectNew)
	withhold(c)
	_, found = k.reserve(c, "e")
	equal(k, "found after it was withheld", found, controller.EffectNew)
}

func attemptVerdict(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	k.Advance(lasts) // its process died
	_, err := k.resolve("a", "e", controller.VerdictApplied)
	k.must(err)
	equal(k, "attempts", told(k.attempts("e")), []controller.EffectAttempt{
		{Number: 1, Action: controller.ActionApply, Outcome: controller.OutcomeUnknown},
		{Number: 2, Action: controller.ActionVerdict, Outcome: "applied", Actor: "ada", Reason: "I looked"},
	})
	_, err = k.Store.FinishEffect(k.Context(), c, controller.EffectOutcome{Key: "e", State: controller.EffectRejected})
	wantKind[*lease.LostError](k, err)
}

func attemptsBounded(k *kit) {
	c := k.started("a")
	last := controller.MaxAttempts + 5
	for i := range last {
		k.reserve(c, "e")
		k.know(c, controller.EffectOutcome{Key: "e", State: controller.EffectIndeterminate, Error: strconv.Itoa(i + 1)})
	}
	list := k.attempts("e")
	equal(k, "kept", len(list), controller.MaxAttempts)
	equal(k, "the first", list[0].Error, "1")
	equal(k, "the next", list[1].Number, last-controller.MaxAttempts+2)
	equal(k, "the newest", list[len(list)-1].Error, strconv.Itoa(last))
	k.reserve(c, "e")
	k.know(c, controller.EffectOutcome{
		Key: "e", State: controller.EffectIndeterminate, Error: strings.Repeat("x", controller.MaxError+1),
	})
	list = k.attempts("e")
	if n := utf8.RuneCountInString(list[len(list)-1].Error); n > controller.MaxError {
		k.Errorf("an error of %d characters was kept", n)
	}
}

func effectOwned(k *kit) {
	first := k.started("a")
	k.reserve(first, "e")
	k.Advance(lasts)
	second := k.claim("a")
	_, err := k.Store.FinishEffect(k.Context(), first, controller.EffectOutcome{Key: "e", State: controller.EffectApplied})
	k.wantLost(err, lease.Taken)
	// Also the pass that holds the key has to reserve the effect first.
	k.quiet("a", func() {
		_, err = k.Store.FinishEffect(k.Context(), second, controller.EffectOutcome{Key: "e", State: controller.EffectApplied})
		k.wantLost(err, lease.Taken)
	})
	k.reserve(second, "e")
	equal(k, "state", k.outcome(second, "e", controller.EffectApplied).State, controller.EffectApplied)
}

func effectAdopted(k *kit) {
	c := k.started("a")
	e := reservation("e")
	e.Adopt = true
	_, found, err := k.Store.ReserveEffect(k.Context(), c, e)
	k.must(err)
	equal(k, "found", found, controller.EffectOpen)
	k.know(c, controller.EffectOutcome{Key: "e", State: controller.EffectApplied, ExternalRef: "theirs"})
	equal(k, "attempts", told(k.attempts("e")), []controller.EffectAttempt{
		{Number: 1, Action: controller.ActionObserve, Outcome: controller.OutcomeApplied},
	})
	_, found, err = k.Store.ReserveEffect(k.Context(), c, reservation("e"))
	k.must(err)
	equal(k, "found again", found, controller.EffectDone)
}

func effectObserveOnly(k *kit) {
	c := k.started("a")
	e := reservation("e")
	e.ObserveOnly = true
	reserve := func(c *controller.Claim) {
		k.Helper()
		_, found, err := k.Store.ReserveEffect(k.Context(), c, e)
		k.must(err)
		equal(k, "found", found, controller.EffectOpen)
	}
	reserve(c)
	k.know(c, controller.EffectOutcome{Key: "e", State: controller.EffectPending, Outcome: controller.OutcomeNotApplied})
	k.settle(c)
	_, err := k.resolve("a", "e", controller.VerdictNotApplied)
	k.must(err)
	reserve(k.claim("a"))
}

func attemptFrozen(k *kit) {
	c := k.started("a")
	k.reserve(c, "e")
	_, err := k.Store.Freeze(k.Context(), "ada", "incident")
	k.must(err)
	on := controller.EffectOutcome{Key: "e", State: controller.EffectPending, Outcome: controller.OutcomeNotApplied, Applies: true}
	k.quiet("a", func() {
		_, err = k.Store.FinishEffect(k.Context(), c, on)
		wantKind[*controller.FrozenError](k, err)
	})
	on.Applies = false
	k.know(c, on)
	equal(k, "attempts", len(k.attempts("e")), 1)
}

func (k *kit) prune(p controller.EffectPruning) int {
	k.Helper()
	n, err := k.Store.PruneEffects(k.Context(), p)
	k.must(err)
	return n
}

func effectsCut(k *kit) {
	c := k.started("a")
	for _, key := range []string{"done", "open", "late"} {
		k.reserve(c, key)
	}
	k.know(c, controller.EffectOutcome{Key: "done", State: controller.EffectApplied, ExternalRef: "r", Error: "almost"})
	k.Advance(time.Second)
	end := k.know(c, controller.EffectOutcome{Key: "late", State: controller.EffectRejected})
	before := k.effects("a")
	all := controller.EffectPruning{Before: *end.CompletedAt}
	equal(k, "would be cut", k.prune(controller.EffectPruning{Before: all.Before, DryRun: true}), 1)
	equal(k, "after a dry run", k.effects("a"), before)
	equal(k, "cut", k.prune(all), 1)
	equal(k, "cut again", k.prune(all), 0)
	want := before[0]
	want.Kind, want.Token, want.Error = "", "", ""
	equal(k, "what is left", k.effects("a"), []controller.EffectRecord{want, before[1], before[2]})
	equal(k, "attempts of the cut one", len(k.attempts("done")), 0)
	equal(k, "attempts of the other", len(k.attempts("late")), 1)

	_, found := k.reserve(c, "done")
	equal(k, "found", found, controller.EffectDone)
	other := reservation("done")
	other.RequestFingerprint = "other"
	_, _, err := k.Store.ReserveEffect(k.Context(), c, other)
	wantKind[*controller.EffectConflictError](k, err)
}

func effectsCutBounded(k *kit) {
	c := k.started("a")
	for _, key := range []string{"1", "2", "3"} {
		k.reserve(c, key)
		k.outcome(c, key, controller.EffectApplied)
	}
	later := k.effects("a")[0].CompletedAt.Add(time.Second)
	n, err := k.peer("other").Store.PruneEffects(k.Context(), controller.EffectPruning{Before: later})
	k.must(err)
	equal(k, "cut by another project", n, 0)
	equal(k, "cut", k.prune(controller.EffectPruning{Before: later, Limit: 2}), 2)
	equal(k, "the rest", k.prune(controller.EffectPruning{Before: later, Limit: 2}), 1)
	_, err = k.Store.PruneEffects(k.Context(), controller.EffectPruning{Limit: 10_001})
	wantKind[*controller.LimitError](k, err)
}
