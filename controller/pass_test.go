package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

func text(s string) *json.RawMessage {
	raw := json.RawMessage(s)
	return &raw
}

func TestPassWritesItsResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `{"a":1}`)
	m := w.manager(nil, define(answering(controller.Settled(controller.Patch[json.RawMessage]{
		ControllerStatus: text(`{"phase":"done"}`),
		Conditions:       []controller.Condition{controller.ConditionTrue("Ready", "Done", "")},
		Finalizers:       []string{"worktree"},
	}), nil)))
	w.once(m)
	w.idle(m)
	got := w.get("k")
	want := controller.Status[json.RawMessage]{
		ObservedGeneration: 1, ControllerStatus: json.RawMessage(`{"phase":"done"}`),
		Conditions: []controller.Condition{{
			Type: "Ready", Status: controller.True, Reason: "Done", ObservedGeneration: 1, LastTransitionTime: w.clock.Now(),
		}},
	}
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.Metadata.ResourceVersion != 2 || got.Metadata.Generation != 1 || len(got.Metadata.Finalizers) != 1 {
		t.Errorf("metadata = %+v", got.Metadata)
	}
	w.expectQueue("k", controller.QueueNone, 0, 0)
}

func TestPassEnds(t *testing.T) {
	t.Parallel()
	own := errors.New("provider is down")
	tests := []struct {
		name     string
		body     body
		state    controller.QueueState
		after    time.Duration
		failures int
		event    controller.EventType
		reason   controller.RequeueReason
		says     string // part of the last error
	}{
		{"settled", answering(controller.Settled(nothing), nil),
			controller.QueueNone, 0, 0, controller.EventFinished, "", ""},
		{"requeue", answering(controller.Requeue(nothing), nil),
			controller.QueueReady, 0, 0, controller.EventFinished, controller.ReasonRequested, ""},
		{"requeue after", answering(controller.RequeueAfter(90*time.Second, nothing), nil),
			controller.QueueDelayed, 90 * time.Second, 0, controller.EventFinished, controller.ReasonDelay, ""},
		{"retry", answering(controller.Retry(nothing), nil),
			controller.QueueDelayed, time.Second, 0, controller.EventFinished, controller.ReasonRetry, ""},
		{"a terminal error", answering(controller.RawResult{}, fmt.Errorf("merge: %w", controller.Terminal(own))),
			controller.QueueNone, 0, 0, controller.EventFailed, "", ""},
		{"an error", answering(controller.Settled(nothing), own),
			controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "provider is down"},
		{"no result", answering(controller.RawResult{}, nil),
			controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "return Settled"},
		{"a bad patch", answering(controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`{`)}), nil),
			controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "controller status"},
		{"a panic", func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) { panic("boom") },
			controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "panic in Reconcile: boom"},
		{"a goroutine that ends itself", func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			runtime.Goexit()
			return controller.RawResult{}, nil
		}, controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "ended its goroutine"},
		{"a conflict on another resource", answering(controller.RawResult{}, &controller.ConflictError{Ref: ref("other")}),
			controller.QueueDelayed, time.Second, 1, controller.EventFailed, controller.ReasonErrorBackoff, "c/other"},
		{"a conflict on its own", answering(controller.RawResult{}, &controller.ConflictError{Ref: ref("k")}),
			controller.QueueReady, 0, 0, controller.EventConflict, controller.ReasonConflict, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			w.once(w.manager(nil, define(test.body)))
			w.expectQueue("k", test.state, test.after, test.failures)
			if row := w.queue("k"); !strings.Contains(row.LastError, test.says) || strings.Contains(row.LastError, "\n") {
				t.Errorf("last error = %q, want one with %q and no stack", row.LastError, test.says)
			}
			if got := w.lastEvent("k", test.event)["reason"]; got != reasonOf(test.reason) {
				t.Errorf("reason = %v, want %q", got, test.reason)
			}
		})
	}
}

// reasonOf is a reason as JSON gives it: absent if empty.
func reasonOf(r controller.RequeueReason) any {
	if r == "" {
		return nil
	}
	return string(r)
}

func TestRetriesInARowBackOffAndAreNoErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	m := w.manager(func(o *controller.ManagerOptions) { o.Random = func() float64 { return 0.5 } },
		define(answering(controller.Retry(nothing), nil)))
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		w.once(m)
		w.expectQueue("k", controller.QueueDelayed, delay, 0)
		w.idle(m)
		w.clock.Advance(delay)
	}
}

func TestATerminalErrorStallsTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	w.once(w.manager(nil, define(answering(controller.RawResult{}, controller.Terminal(errors.New("no such branch"))))))
	if got := w.queue("k"); got.Stalled != "no such branch" || got.Handled != got.Wake {
		t.Errorf("queue %+v", got)
	}
}

func TestAControllerWithAResyncPeriodLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	d := define(answering(controller.Settled(nothing), nil))
	d.Resync = time.Hour
	w.once(w.manager(nil, d))
	w.expectQueue("k", controller.QueueDelayed, time.Hour, 0)
	if got := w.queue("k").Lane; got != controller.LaneBackground {
		t.Errorf("lane %s", got)
	}
}

func TestErrorsInARowBackOffAndASuccessForgetsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	var err error
	m := w.manager(func(o *controller.ManagerOptions) { o.Random = func() float64 { return 0 } },
		define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			return controller.RequeueAfter(time.Hour, nothing), err
		}))
	err = errors.New("down")
	for i, delay := range []time.Duration{800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond} {
		w.once(m)
		w.expectQueue("k", controller.QueueDelayed, delay, i+1)
		w.idle(m)
		w.clock.Advance(delay)
	}
	err = nil
	w.once(m)
	w.expectQueue("k", controller.QueueDelayed, time.Hour, 0)
}

func TestEventDuringAPassCausesAnother(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]controller.RawResult{
		"settled":       controller.Settled(nothing),
		"requeue after": controller.RequeueAfter(time.Hour, nothing),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			passes := 0
			m := w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
				if passes++; passes == 1 {
					_, err := w.store.Enqueue(ctx, r.Metadata.Ref(), "test")
					return result, err
				}
				return controller.Settled(nothing), nil
			}))
			w.once(m)
			w.expectQueue("k", controller.QueueReady, 0, 0)
			if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonEventDuringPass) {
				t.Errorf("reason = %v", got)
			}
			w.once(m)
			w.idle(m)
		})
	}
}

func TestAChangeDuringAPassWinsOverItsResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	var generations []int64
	m := w.manager(nil, define(func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		if generations = append(generations, r.Metadata.Generation); len(generations) == 1 {
			w.put("k", `2`) //nolint:contextcheck // somebody else does this
		}
		return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(string(r.Spec))}), nil
	}))
	w.once(m)
	w.expectQueue("k", controller.QueueReady, 0, 0)
	w.lastEvent("k", controller.EventConflict)
	if got := w.get("k").Status; got.ObservedGeneration != 0 || string(got.ControllerStatus) != "null" {
		t.Errorf("the outdated result was written: %+v", got)
	}
	w.once(m)
	if got := w.get("k").Status; got.ObservedGeneration != 2 || string(got.ControllerStatus) != "2" {
		t.Errorf("status = %+v", got)
	}
	if diff := cmp.Diff([]int64{1, 2}, generations); diff != "" {
		t.Errorf("generations (-want +got):\n%s", diff)
	}
}

func TestAConflictKeepsTheErrorCounter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	keep := controller.Patch[json.RawMessage]{Finalizers: []string{"worktree"}}
	w.once(w.manager(nil, define(answering(controller.Requeue(keep), nil))))
	w.once(w.manager(nil, define(answering(controller.RawResult{}, errors.New("down")))))
	w.clock.Advance(time.Second)
	w.once(w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		_, err := w.store.RequestDeletion(ctx, controller.Deletion{Ref: r.Metadata.Ref()})
		return controller.Settled(nothing), err
	})))
	w.lastEvent("k", controller.EventConflict)
	w.expectQueue("k", controller.QueueReady, 0, 1)
}

func TestTheLastFinalizerDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	m := w.manager(nil, define(func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		p := controller.Patch[json.RawMessage]{Finalizers: []string{"worktree"}}
		if r.Metadata.Deleting() {
			p.Finalizers = []string{}
		}
		return controller.Requeue(p), nil
	}))
	w.once(m)
	if d, err := w.store.RequestDeletion(t.Context(), controller.Deletion{Ref: ref("k")}); err != nil || d.Deleted {
		t.Fatalf("RequestDeletion = %+v, %v", d, err)
	}
	w.once(m)
	if _, err := w.store.Get(t.Context(), ref("k")); !errors.Is(err, controller.ErrNotFound) {
		t.Errorf("Get = %v", err)
	}
	w.idle(m)
	w.logs.await(t, "pass")
	if got := w.logs.await(t, "pass"); got["outcome"] != "deleted" {
		t.Errorf("record = %v", got)
	}
}

func TestAReconcilerCannotChangeWhatTheRuntimeKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `{"a":1}`)
	m := w.manager(nil, define(func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		if r.Status.ObservedGeneration == 0 {
			return controller.Requeue(controller.Patch[json.RawMessage]{
				ControllerStatus: text(`"kept"`), Finalizers: []string{"kept"},
				Conditions: []controller.Condition{controller.ConditionTrue("Ready", "Kept", "")},
			}), nil
		}
		r.Metadata.Finalizers[0] = "changed"
		r.Status.Conditions[0].Reason = "Changed"
		copy(r.Status.ControllerStatus, `"CHGD"`)
		return controller.Settled(nothing), nil
	}))
	w.once(m)
	before := w.get("k")
	w.once(m)
	if diff := cmp.Diff(before, w.get("k")); diff != "" {
		t.Errorf("the resource changed (-before +after):\n%s", diff)
	}
}

func TestEveryPassHasOneRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	m := w.manager(nil, define(func(_ context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		p.Log.Info("looking", "id", p.ID)
		w.clock.Advance(1500 * time.Millisecond)
		if r.Status.ObservedGeneration == 0 {
			return controller.RequeueAfter(time.Minute, nothing), nil
		}
		panic("boom")
	}))
	w.once(m)
	w.clock.Advance(time.Minute)
	w.once(m)
	for _, want := range []map[string]any{
		{"level": "DEBUG", "outcome": "requeue", "reason": "delay", "requeueAfterMs": 60_000.0},
		{
			"level": "ERROR", "outcome": "failed", "reason": "error_backoff", "requeueAfterMs": 1000.0,
			"error": "panic in Reconcile: boom",
		},
	} {
		looking, got := w.logs.await(t, "looking"), w.logs.await(t, "pass")
		if stack, _ := got["stack"].(string); (want["error"] != nil) != strings.Contains(stack, "pass_test.go") {
			t.Errorf("stack = %q", stack)
		}
		if looking["id"] != got["reconcileId"] || looking["reconcileId"] != got["reconcileId"] || got["reconcileId"] == nil {
			t.Errorf("the pass logged as %v and ended as %v", looking, got)
		}
		want["msg"], want["controller"], want["key"], want["generation"], want["durationMs"] = "pass", "c", "k", 1.0, 1500.0
		for _, field := range []string{"time", "stack", "reconcileId"} {
			delete(got, field)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
}

// A controller that cannot do its work leaves that of the others alone.
func TestABadControllerDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	bad := &controller.Definition{
		Name:      "a-bad-one",
		Reconcile: func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) { panic("bad") },
	}
	theirs := controller.Ref{Controller: bad.Name, Key: "k"}
	if _, err := w.store.Put(t.Context(), controller.Put{Ref: theirs, Spec: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	m := w.manager(nil, bad, define(answering(controller.Settled(nothing), nil)))
	w.once(m)
	w.once(m)
	w.expectQueue("k", controller.QueueNone, 0, 0)
	row, err := w.store.Queue(t.Context(), theirs)
	if err != nil || row.ConsecutiveErrors != 1 || row.State != controller.QueueDelayed {
		t.Errorf("the bad one: %+v, %v", row, err)
	}
}
