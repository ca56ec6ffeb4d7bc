package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/lease"
)

// effect returns the only record of key k.
func (w *world) effect() controller.EffectRecord {
	w.t.Helper()
	records, err := w.store.Effects(w.t.Context(), ref("k"))
	if err != nil || len(records) != 1 {
		w.t.Fatalf("effects = %+v, %v; want one", records, err)
	}
	return records[0]
}

func TestAnEffectIsRecordedCheckedAppliedAndRecordedAgain(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.note = w.store.Note
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.once(m)
	want := []string{"Claim", "ReserveEffect", "apply e", "FinishEffect", "Finish"}
	if diff := cmp.Diff(want, w.store.Took()); diff != "" {
		t.Errorf("first pass (-want +got):\n%s", diff)
	}
	w.expectQueue("k", controller.QueueReady, 0, 0)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEffectApplied) {
		t.Errorf("reason = %v", got)
	}
	w.once(m)
	if diff := cmp.Diff([]string{"Claim", "ReserveEffect", "Finish"}, w.store.Took()); diff != "" {
		t.Errorf("second pass (-want +got):\n%s", diff)
	}
	w.expectQueue("k", controller.QueueNone, 0, 0)
	got := w.effect()
	if got.State != controller.EffectApplied || got.ExternalRef != "made" || got.Generation != 1 || got.CompletedAt == nil {
		t.Errorf("record = %+v", got)
	}
	if diff := cmp.Diff([]string{got.Token}, p.tokens); diff != "" || got.Token == "" {
		t.Errorf("tokens (-record +applied):\n%s", diff)
	}
}

// The store is asked again where its word is old, or was no.
func TestTheClaimIsAskedForOnceMoreWhereThatMayHelp(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{99 * time.Millisecond, 100 * time.Millisecond} {
		w, p := newEffectWorld(t)
		w.store.Hook(nil, func(op string) error {
			if op == "ReserveEffect" {
				w.clock.Advance(after)
			}
			return nil
		})
		w.once(w.manager(nil, define(ensuring(p.effect("e")))))
		if asked := slices.Contains(w.store.Took(), "CheckApply"); asked != (after == 100*time.Millisecond) {
			t.Errorf("asked %s after the reservation: %t", after, asked)
		}
		p.expectCalls(t, "apply e")
	}
	for _, err := range []error{&lease.LostError{What: "k", Reason: lease.Taken}, errors.New("no answer")} {
		w, p := newEffectWorld(t)
		w.store.Hook(func(op string) error {
			if op == "CheckApply" {
				return err
			}
			return nil
		}, func(op string) error {
			if op == "ReserveEffect" {
				w.clock.Advance(time.Second)
			}
			return nil
		})
		w.once(w.manager(nil, define(ensuring(p.effect("e")))))
		p.expectCalls(t)
	}
	w, p := newEffectWorld(t)
	w.freeze("")
	w.once(w.manager(nil, define(ensuring(p.effect("e")))))
	if !slices.Contains(w.store.Took(), "CheckApply") {
		t.Error("a frozen project was not asked why")
	}
	p.expectCalls(t)
}

func TestApplyAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		apply func(context.Context) (controller.Application, error)
		state controller.EffectState
		event controller.EventType
		says  string
	}{
		{"applied", applying(controller.Application{State: controller.EffectApplied}, nil), controller.EffectApplied, controller.EventEffectApplied, ""},
		{"rejected", applying(controller.Application{State: controller.EffectRejected, Reason: "no"}, nil),
			controller.EffectRejected, controller.EventEffectRejected, "no"},
		{"indeterminate", applying(controller.Application{State: controller.EffectIndeterminate, Reason: "maybe"}, nil),
			controller.EffectIndeterminate, controller.EventEffectIndeterminate, "maybe"},
		{"an error", applying(controller.Application{State: controller.EffectApplied}, errors.New("cut off")),
			controller.EffectIndeterminate, controller.EventEffectIndeterminate, "cut off"},
		{"a panic", func(context.Context) (controller.Application, error) { panic("boom") },
			controller.EffectIndeterminate, controller.EventEffectIndeterminate, "panic in Apply: boom"},
		{"another state", applying(controller.Application{State: "pending"}, nil),
			controller.EffectIndeterminate, controller.EventEffectIndeterminate, `Apply answered "pending"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, p := newEffectWorld(t)
			p.apply = test.apply
			w.once(w.manager(nil, define(ensuring(p.effect("e")))))
			if got := w.effect(); got.State != test.state || got.Error != test.says && !strings.Contains(got.Error, test.says) {
				t.Errorf("record = %+v", got)
			}
			w.lastEvent("k", test.event)
			// Whatever came of it, the pass runs again; what nobody knows is an error.
			if test.state.Final() {
				w.expectQueue("k", controller.QueueReady, 0, 0)
			} else {
				w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
			}
		})
	}
}

// A provider that is down must not be asked as fast as this machine can.
func TestAChangeInDoubtIsTriedAgainWithBackoff(t *testing.T) {
	t.Parallel()
	p, blind := newProvider(), newProvider()
	p.observe = observing(controller.ObservedNotApplied, nil)
	p.apply = applying(controller.Application{}, errors.New("provider is down"))
	blind.observe = observing(controller.ObservedIndeterminate, nil)
	blind.apply = p.apply
	ask := func(then controller.RawResult, effects ...controller.Effect) body {
		return func(ctx context.Context, pass *controller.Pass, r controller.Raw) (controller.RawResult, error) {
			_, err := ensuring(effects...)(ctx, pass, r)
			return then, err
		}
	}
	for name, body := range map[string]body{
		"settled":         ask(controller.Settled(nothing), p.effect("a")),
		"requeue":         ask(controller.Requeue(nothing), p.effect("a")),
		"observed":        ask(controller.Requeue(nothing), blind.effect("a")),
		"the same again":  ask(controller.Requeue(nothing), p.effect("a"), p.effect("a")),
		"a second effect": ask(controller.Requeue(nothing), p.effect("a"), p.effect("b")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			m := w.manager(nil, define(body))
			for i, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				w.once(m)
				w.expectQueue("k", controller.QueueDelayed, delay, i+1)
				if row := w.queue("k"); !strings.Contains(row.LastError, `effect "a" is indeterminate and will be observed: `) {
					t.Errorf("last error = %q", row.LastError)
				}
				if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEffectUnsettled) {
					t.Errorf("reason = %v", got)
				}
				w.idle(m)
				w.clock.Advance(delay)
			}
		})
	}
}

func TestAChangeInDoubtKeepsALongerDelayAndTheStatus(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	w.once(w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := pass.Effects.Ensure(ctx, p.effect("e"))
		return controller.RequeueAfter(time.Hour, controller.Patch[json.RawMessage]{ControllerStatus: text(`"kept"`)}), err
	})))
	w.expectQueue("k", controller.QueueDelayed, time.Hour, 1)
	if got := string(w.get("k").Status.ControllerStatus); got != `"kept"` {
		t.Errorf("status = %s", got)
	}
}

func applying(a controller.Application, err error) func(context.Context) (controller.Application, error) {
	return func(context.Context) (controller.Application, error) { return a, err }
}

func observing(state controller.ObservedState, err error) func(context.Context) (controller.Observation, error) {
	return func(context.Context) (controller.Observation, error) {
		return controller.Observation{State: state, ExternalRef: "seen"}, err
	}
}

func TestAnUnfinishedEffectIsObservedFirst(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		observe func(context.Context) (controller.Observation, error)
		calls   []string
		state   controller.EffectState
		event   controller.EventType
		ref     string
		queue   controller.QueueState
		after   time.Duration
		errors  int
	}{
		{"it is there", observing(controller.ObservedApplied, nil), []string{"observe e"},
			controller.EffectApplied, controller.EventEffectRecovered, "seen", controller.QueueNone, 0, 0},
		{"it is not there", observing(controller.ObservedNotApplied, nil), []string{"observe e", "apply e"},
			controller.EffectApplied, controller.EventEffectApplied, "made", controller.QueueReady, 0, 0},
		{"nobody knows", observing(controller.ObservedIndeterminate, nil), []string{"observe e"},
			controller.EffectIndeterminate, controller.EventEffectIndeterminate, "seen", controller.QueueDelayed, 2 * time.Second, 2},
		{"an error", observing(controller.ObservedApplied, errors.New("cut off")), []string{"observe e"},
			controller.EffectIndeterminate, controller.EventEffectObserveFailed, "", controller.QueueDelayed, 2 * time.Second, 2},
		{"a panic", func(context.Context) (controller.Observation, error) { panic("boom") }, []string{"observe e"},
			controller.EffectIndeterminate, controller.EventEffectObserveFailed, "", controller.QueueDelayed, 2 * time.Second, 2},
		{"another state", observing("there", nil), []string{"observe e"},
			controller.EffectIndeterminate, controller.EventEffectObserveFailed, "", controller.QueueDelayed, 2 * time.Second, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, p := newEffectWorld(t)
			p.apply = applying(controller.Application{}, errors.New("cut off"))
			m := w.manager(nil, define(ensuring(p.effect("e"))))
			w.once(m)
			p.calls()
			p.apply, p.observe = nil, test.observe
			w.clock.Advance(time.Second)
			w.once(m)
			if diff := cmp.Diff(test.calls, p.calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := w.effect(); got.State != test.state || got.ExternalRef != test.ref {
				t.Errorf("record = %+v", got)
			}
			for _, token := range p.tokens {
				if token != w.effect().Token {
					t.Errorf("applied with token %s, recorded is %s", token, w.effect().Token)
				}
			}
			w.lastEvent("k", test.event)
			w.expectQueue("k", test.queue, test.after, test.errors)
		})
	}
}

func TestASettledPassWithAnUnfinishedEffectComesBack(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	ensure := true
	m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		if ensure {
			return ensuring(p.effect("e"))(ctx, pass, r)
		}
		return controller.Settled(nothing), nil
	}))
	w.once(m)
	ensure = false
	w.clock.Advance(time.Second)
	w.once(m)
	w.expectQueue("k", controller.QueueDelayed, controller.UnsettledDelay, 0)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEffectUnsettled) {
		t.Errorf("reason = %v", got)
	}
}

func TestALostReceiptIsObservedAndNotAppliedAgain(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.store.Fail("FinishEffect", 1, errors.New("disk full"))
	w.once(m)
	if got := w.effect(); got.State != controller.EffectPending {
		t.Errorf("record = %+v", got)
	}
	w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
	w.clock.Advance(time.Second)
	w.once(m)
	p.expectCalls(t, "apply e", "observe e")
	if got := w.effect(); got.State != controller.EffectApplied || got.ExternalRef != "seen" {
		t.Errorf("record = %+v", got)
	}
	w.lastEvent("k", controller.EventEffectRecovered)
	w.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestAnEffectKeyMeansOneThing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		differs string
		change  func(w *world, e *controller.Effect)
	}{
		{"request", func(_ *world, e *controller.Effect) { e.Request = "other" }},
		{"kind", func(_ *world, e *controller.Effect) { e.Kind = "other" }},
		{"generation", func(w *world, _ *controller.Effect) { w.put("k", `2`) }},
	}
	for _, test := range tests {
		t.Run(test.differs, func(t *testing.T) {
			t.Parallel()
			w, p := newEffectWorld(t)
			e := p.effect("e")
			var err error
			m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
				_, err = pass.Effects.Ensure(ctx, e)
				return controller.Settled(nothing), err
			}))
			w.once(m)
			p.calls()
			test.change(w, &e)
			w.once(m)
			var conflict *controller.EffectConflictError
			if !errors.As(err, &conflict) || conflict.Differs != test.differs {
				t.Errorf("Ensure = %v", err)
			}
			if calls := p.calls(); len(calls) > 0 {
				t.Errorf("called: %v", calls)
			}
			w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
		})
	}
}

// Without this, an effect whose generation has passed would stay unfinished for
// ever, and its resource could never be deleted.
func TestAnEffectOfAnEarlierGenerationIsBroughtToItsEnd(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	e := p.effect("e")
	m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		_, err := pass.Effects.Ensure(ctx, e)
		return controller.Settled(nothing), err
	}))
	w.store.Fail("FinishEffect", 1, errors.New("cut off"))
	w.once(m)
	p.calls()
	w.put("k", `2`)
	e.Generation = 1
	w.once(m)
	p.expectCalls(t, "observe e")
	if got := w.effect(); got.State != controller.EffectApplied || got.Generation != 1 {
		t.Errorf("record = %+v", got)
	}
	w.expectQueue("k", controller.QueueNone, 0, 0)
	if d, err := w.store.RequestDeletion(t.Context(), controller.Deletion{Ref: ref("k")}); err != nil || !d.Deleted {
		t.Errorf("RequestDeletion = %+v, %v", d, err)
	}
}

func TestAPassAppliesOneEffect(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	m := w.manager(nil, define(ensuring(p.effect("a"), p.effect("b"))))
	for i, want := range [][]string{{"apply a"}, {"apply b"}, nil} {
		w.once(m)
		if diff := cmp.Diff(want, p.calls()); diff != "" {
			t.Errorf("pass %d (-want +got):\n%s", i+1, diff)
		}
		records, err := w.store.Effects(t.Context(), ref("k"))
		if err != nil || len(records) != min(i+1, 2) {
			t.Errorf("pass %d left %d records (%v): an effect that cannot be applied must not be recorded", i+1, len(records), err)
		}
		if i < 2 {
			w.expectQueue("k", controller.QueueReady, 0, 0)
		}
	}
	w.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestASecondApplyIsRefusedByName(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	first := true
	m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		if first {
			first = false
			p.apply = applying(controller.Application{}, errors.New("cut off"))
			_, err := pass.Effects.Ensure(ctx, p.effect("open"))
			return controller.Settled(nothing), err
		}
		p.apply = nil
		if _, err := pass.Effects.Ensure(ctx, p.effect("a")); err != nil {
			t.Errorf("first Ensure = %v", err)
		}
		if _, err := pass.Effects.Ensure(ctx, p.effect("a")); err != nil {
			t.Errorf("the same again = %v", err)
		}
		if _, err := pass.Effects.Ensure(ctx, p.effect("b")); !errors.Is(err, controller.ErrSecondApply) {
			t.Errorf("another one = %v", err)
		}
		p.observe = observing(controller.ObservedNotApplied, nil)
		if _, err := pass.Effects.Ensure(ctx, p.effect("open")); !errors.Is(err, controller.ErrSecondApply) {
			t.Errorf("one that has to be applied = %v", err)
		}
		p.observe = observing(controller.ObservedApplied, nil)
		if got, err := pass.Effects.Ensure(ctx, p.effect("open")); err != nil || got.State != controller.EffectApplied {
			t.Errorf("one that is there = %+v, %v", got, err)
		}
		return controller.Settled(nothing), nil
	}))
	w.once(m)
	w.clock.Advance(time.Second)
	w.once(m)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEffectApplied) {
		t.Errorf("reason = %v", got)
	}
}

func TestEnsureFromTwoGoroutinesAppliesOnce(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	w.once(w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		var group sync.WaitGroup
		for _, key := range []string{"a", "b", "a", "b"} {
			group.Go(func() {
				if _, err := pass.Effects.Ensure(ctx, p.effect(key)); err != nil && !errors.Is(err, controller.ErrSecondApply) {
					t.Errorf("Ensure = %v", err)
				}
			})
		}
		group.Wait()
		return controller.Settled(nothing), nil
	})))
	if calls := p.calls(); len(calls) != 1 {
		t.Errorf("calls = %v, want one", calls)
	}
}

func TestNothingIsAppliedOnceTheClaimIsGone(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	answers := make(chan error, 2)
	m := w.manager(nil, define(func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := pass.Effects.Ensure(ctx, p.effect("e"))
		answers <- err
		return controller.Settled(nothing), err
	}))
	w.once(m)
	<-answers
	p.calls()
	w.clock.Advance(time.Second)
	p.observe = func(context.Context) (controller.Observation, error) {
		w.clock.Advance(lease.DefaultDuration) // as if this machine had slept
		return controller.Observation{State: controller.ObservedNotApplied}, nil
	}
	w.once(m)
	if err := <-answers; !errors.Is(err, lease.ErrLost) {
		t.Errorf("Ensure = %v", err)
	}
	p.expectCalls(t, "observe e")
}

func TestEnsureAfterThePassIsRefused(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	var kept *controller.Pass
	w.once(w.manager(nil, define(func(_ context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		kept = pass
		return controller.Settled(nothing), nil
	})))
	if _, err := kept.Effects.Ensure(t.Context(), p.effect("e")); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Ensure = %v", err)
	}
	if calls := p.calls(); len(calls) > 0 {
		t.Errorf("called: %v", calls)
	}
}

func TestEnsureRefusesBeforeItRecords(t *testing.T) {
	t.Parallel()
	p := newProvider()
	tests := []struct {
		name   string
		change func(e *controller.Effect)
		says   string
	}{
		{"no key", func(e *controller.Effect) { e.Key = "" }, "effect key"},
		{"a bad kind", func(e *controller.Effect) { e.Kind = "a b" }, "effect kind"},
		{"no Observe", func(e *controller.Effect) { e.Observe = nil }, "needs Observe"},
		{"a generation to come", func(e *controller.Effect) { e.Generation = 2 }, "generation 2"},
		{"no generation", func(e *controller.Effect) { e.Generation = -1 }, "generation -1"},
		{"a request that is no JSON", func(e *controller.Effect) { e.Request = math.Inf(1) }, "effect request"},
		{"a request that is too large", func(e *controller.Effect) { e.Request = quoted(controller.MaxRequestBytes + 1) },
			"effect request is 1048577 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			e := p.effect("e")
			test.change(&e)
			w.once(w.manager(nil, define(ensuring(e))))
			if row := w.queue("k"); !strings.Contains(row.LastError, test.says) {
				t.Errorf("last error = %q", row.LastError)
			}
			if got, err := w.store.Effects(t.Context(), ref("k")); err != nil || len(got) > 0 {
				t.Errorf("recorded: %+v, %v", got, err)
			}
		})
	}
	if calls := p.calls(); len(calls) > 0 {
		t.Errorf("called: %v", calls)
	}
}

func TestNothingIsAppliedInAFrozenProject(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.freeze("incident")
	w.once(m)
	w.expectQueue("k", controller.QueueDelayed, time.Second, 0)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonFrozenProject) {
		t.Errorf("reason = %v", got)
	}
	w.clock.Advance(time.Second)
	w.once(m) // it looks, and does no more
	p.expectCalls(t, "observe e")
	w.unfreeze()
	w.once(m)
	if got := w.effect().State; got != controller.EffectApplied {
		t.Errorf("after the freeze the effect is %s", got)
	}
}

func TestAVerdictOfNotAppliedSparesTheObservation(t *testing.T) {
	t.Parallel()
	w, p := newEffectWorld(t)
	p.apply = applying(controller.Application{}, errors.New("cut off"))
	m := w.manager(nil, define(ensuring(p.effect("e"))))
	w.once(m)
	p.calls()
	verdict := controller.Verdict{Effect: "e", Kind: controller.VerdictNotApplied, Actor: "ada", Reason: "I looked"}
	if _, err := w.store.ResolveEffect(t.Context(), ref("k"), verdict); err != nil {
		t.Fatal(err)
	}
	p.apply = nil
	w.once(m)
	p.expectCalls(t, "apply e")
	if got := w.effect().State; got != controller.EffectApplied {
		t.Errorf("state %s", got)
	}
}
