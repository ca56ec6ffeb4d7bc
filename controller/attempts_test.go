package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// attempts lists what was tried for the effect e of key k: action and outcome.
func (w *world) attempts() []string {
	w.t.Helper()
	list, err := w.store.EffectAttempts(w.t.Context(), ref("k"), "e")
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, a := range list {
		all = append(all, string(a.Action)+" "+string(a.Outcome))
	}
	return all
}

func (w *world) expectAttempts(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.attempts()); diff != "" {
		w.t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func (w *world) freeze(reason string) {
	w.t.Helper()
	if _, err := w.store.Freeze(w.t.Context(), "ada", reason); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) unfreeze() {
	w.t.Helper()
	if _, err := w.store.Unfreeze(w.t.Context(), "ada", ""); err != nil {
		w.t.Fatal(err)
	}
}

func TestEveryCallForAnEffectIsAnAttempt(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.once(m)
	p.observe = observing(controller.ObservedApplied, errors.New("cut off"))
	w.clock.Advance(time.Second)
	w.once(m)
	p.observe, p.apply = observing(controller.ObservedNotApplied, nil), nil
	w.clock.Advance(2 * time.Second)
	w.once(m)
	want := []string{"apply indeterminate", "observe failed", "observe not_applied", "apply applied"}
	w.expectAttempts(want...)
}

// A freeze that comes before the first call leaves no attempt, one that comes
// after an observation leaves the observation.
func TestWhatAFreezeKeepsFromBeingCalledIsNoAttempt(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.freeze("")
	w.once(m)
	if got := w.attempts(); len(got) > 0 {
		t.Errorf("attempts = %v", got)
	}
	w.clock.Advance(time.Second)
	w.once(m)
	w.expectAttempts("observe not_applied")
}

func TestAVerdictOutlivesAFreeze(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.once(m)
	verdict := controller.Verdict{Effect: "e", Kind: controller.VerdictNotApplied, Actor: "ada", Reason: "I looked"}
	if _, err := w.store.ResolveEffect(t.Context(), ref("k"), verdict); err != nil {
		t.Fatal(err)
	}
	w.freeze("")
	w.once(m)
	w.unfreeze()
	p.apply = nil
	p.calls()
	w.once(m)
	p.expectCalls(t, "apply e")
}

func TestAnAdoptedEffectIsLookedForFirst(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{true, false} {
		w, p := newEffectWorld(t)
		p.there["e"] = there
		e := p.effect("e")
		e.Adopt = true
		w.once(w.manager(nil, define(ensuring(e))))
		calls, ref := []string{"observe e", "apply e"}, "made"
		if there {
			calls, ref = calls[:1], "seen"
		}
		if diff := cmp.Diff(calls, p.calls()); diff != "" {
			t.Errorf("calls when it is there %v (-want +got):\n%s", there, diff)
		}
		if got := w.effect(); got.State != controller.EffectApplied || got.ExternalRef != ref {
			t.Errorf("record = %+v", got)
		}
	}
}

func TestAnEffectWithoutApplyIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	e := p.effect("e")
	e.Apply = nil
	own := p.effect("own")
	m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		if _, err := pass.Effects.Ensure(ctx, own); err != nil {
			return controller.RawResult{}, err
		}
		return ensuring(e)(ctx, pass, r)
	}))
	w.once(m)
	p.expectCalls(t, "apply own", "observe e")
	w.once(m)
	w.expectQueue("k", controller.QueueDelayed, controller.UnsettledDelay, 0)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEffectUnsettled) {
		t.Errorf("reason = %v", got)
	}
	p.there["e"] = true
	w.clock.Advance(controller.UnsettledDelay)
	w.once(m)
	w.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestASecondApplyNamesTheEffect(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	w.once(w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		if _, err := pass.Effects.Ensure(ctx, p.effect("a")); err != nil {
			t.Errorf("first Ensure = %v", err)
		}
		_, err := pass.Effects.Ensure(ctx, p.effect("b"))
		second, ok := errors.AsType[*controller.SecondApplyError](err)
		if !ok || second.Effect != "b" || second.Ref != ref("k") || second.ErrorCode() != "second_apply" {
			t.Errorf("second Ensure = %v", err)
		}
		return controller.RawResult{}, err
	})))
	w.expectQueue("k", controller.QueueReady, 0, 0)
}
