package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"piworkflows/controller"
)

// start runs a manager until the returned stop, which gives Run's error.
func (w *world) start(m *controller.Manager) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func TestStopReleasesKeysAndKeepsTheirCounters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	failing := w.manager(nil, define(answering(controller.RawResult{}, errors.New("down"))))
	w.once(failing)
	w.clock.Advance(time.Second)
	entered := make(chan struct{})
	stop := w.start(w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		close(entered)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), controller.ErrStopped) {
			t.Errorf("cause = %v", context.Cause(ctx))
		}
		return controller.RawResult{}, ctx.Err()
	})))
	<-entered
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	w.expectQueue("k", controller.QueueReady, 0, 1)
	if got := w.lastEvent("k", controller.EventReleased)["reason"]; got != string(controller.ReasonStopped) {
		t.Errorf("reason = %v", got)
	}
}

func TestAChangeThatAStopCutOffCountsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	entered := make(chan struct{})
	p := newProvider()
	p.apply = func(ctx context.Context) (controller.Application, error) {
		close(entered)
		<-ctx.Done()
		return controller.Application{}, context.Cause(ctx)
	}
	stop := w.start(w.manager(nil, define(ensuring(p.effect("e")))))
	<-entered
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	w.expectQueue("k", controller.QueueReady, 0, 0)
	if got := w.lastEvent("k", controller.EventFinished)["reason"]; got != string(controller.ReasonStopped) {
		t.Errorf("reason = %v", got)
	}
}

func TestStopKeepsTheResultOfAPassThatEndsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	entered := make(chan struct{})
	stop := w.start(w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		close(entered)
		<-ctx.Done()
		return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"done"`)}), nil
	})))
	<-entered
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	w.expectQueue("k", controller.QueueNone, 0, 0)
	if got := string(w.get("k").Status.ControllerStatus); got != `"done"` {
		t.Errorf("status = %s", got)
	}
}

func TestStopAbandonsWhoIgnoresIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	s := newStubborn(func(ctx context.Context, p *controller.Pass) error {
		_, err := p.Effects.Ensure(context.WithoutCancel(ctx), newProvider().effect("e"))
		return err
	})
	// With its only worker busy, the manager does not wait in the store as well.
	m := w.manager(func(o *controller.ManagerOptions) { o.Workers = 1 }, define(s.reconcile))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	<-s.entered
	cancel()
	// Renewal and deadline go on; the pass and the manager wait for the grace.
	w.awaitTimers(4)
	w.clock.Advance(controller.DefaultStopGrace)
	var stopped *controller.StopError
	if err := <-done; !errors.As(err, &stopped) || stopped.Abandoned != 1 {
		t.Errorf("Run = %v", err)
	}
	w.expectQueue("k", controller.QueueReady, 0, 0)
	close(s.release)
	if err := <-s.late; !errors.Is(err, controller.ErrStopped) {
		t.Errorf("the late Ensure = %v", err)
	}
}

func TestRunOnceStopsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	ctx, cancel := context.WithCancel(t.Context())
	m := w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		cancel()
		<-ctx.Done()
		return controller.RawResult{}, ctx.Err()
	}))
	if ran, err := m.RunOnce(ctx); !ran || err != nil {
		t.Errorf("RunOnce = %v, %v", ran, err)
	}
	w.expectQueue("k", controller.QueueReady, 0, 0)
	if ran, err := m.RunOnce(ctx); ran || !errors.Is(err, context.Canceled) {
		t.Errorf("RunOnce after the end = %v, %v", ran, err)
	}
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waiting := make(chan struct{}, 100)
	w.store.Hook(func(op string) error {
		if op == "WaitDue" {
			waiting <- struct{}{}
		}
		return nil
	}, nil)
	m := w.manager(nil, define(answering(controller.Settled(nothing), nil)))
	stop := w.start(m)
	<-waiting
	if err := m.Run(t.Context()); !errors.Is(err, controller.ErrRunning) {
		t.Errorf("second Run = %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	stop = w.start(m)
	<-waiting
	if err := stop(); err != nil {
		t.Errorf("Run again = %v", err)
	}
}
