package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/lease"
)

// stubborn is a reconciler that ignores its cancellation until it is let go.
type stubborn struct {
	entered chan struct{}
	release chan struct{}
	// after runs once it was let go; its error arrives in late.
	after func(ctx context.Context, p *controller.Pass) error
	late  chan error
}

func newStubborn(after func(ctx context.Context, p *controller.Pass) error) *stubborn {
	return &stubborn{make(chan struct{}, 1), make(chan struct{}), after, make(chan error, 1)}
}

func (s *stubborn) reconcile(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
	s.entered <- struct{}{}
	<-s.release
	s.late <- s.after(ctx, p)
	return controller.Settled(nothing), nil
}

const shortTimeout = 5 * time.Second // shorter than a renewal

func TestDeadlineFreesTheKeyAndRefusesTheLatePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	provider := newProvider()
	s := newStubborn(func(ctx context.Context, p *controller.Pass) error {
		ctx = context.WithoutCancel(ctx) // this does not help it
		_, err := p.Effects.Ensure(ctx, provider.effect("e"))
		_, childErr := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "r", Workflow: "w"})
		if !errors.Is(childErr, lease.ErrLost) {
			return childErr
		}
		return err
	})
	d := define(s.reconcile)
	d.Timeout = shortTimeout
	m := w.manager(func(o *controller.ManagerOptions) { o.Scheduler = newScheduler("w") }, d)
	wait := w.goOnce(m)
	<-s.entered
	w.clock.Advance(shortTimeout)
	wait()
	w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
	if got := w.lastEvent("k", controller.EventFailed)["reason"]; got != string(controller.ReasonTimeout) {
		t.Errorf("reason = %v", got)
	}
	if got := m.Stats(); got.Running != 0 || got.Abandoned["c"] != 1 {
		t.Errorf("stats = %+v", got)
	}
	close(s.release)
	if err := <-s.late; !errors.Is(err, lease.ErrLost) {
		t.Errorf("the late Ensure = %v", err)
	}
	w.logs.await(t, "abandoned reconciler returned")
	if got := m.Stats(); len(got.Abandoned) != 0 {
		t.Errorf("stats = %+v", got)
	}
	if diff := cmp.Diff([]string(nil), provider.calls()); diff != "" {
		t.Errorf("calls of the provider (-want +got):\n%s", diff)
	}
}

func TestAbandonedPassesFillTheLimitOfTheirController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a", `1`)
	w.put("b", `1`)
	s := newStubborn(func(context.Context, *controller.Pass) error { return nil })
	d := define(s.reconcile)
	d.Timeout, d.Concurrency = shortTimeout, 1
	other := &controller.Definition{Name: "other", Reconcile: answering(controller.Settled(nothing), nil)}
	m := w.manager(nil, d, other)
	wait := w.goOnce(m)
	<-s.entered
	w.clock.Advance(shortTimeout)
	wait()
	w.expectQueue("b", controller.QueueReady, 0, 0)
	w.idle(m) // b is due, but c is full
	if _, err := controller.PutSpec(t.Context(), w.store, other, put(`1`, "k")); err != nil {
		t.Fatal(err)
	}
	w.once(m) // another controller is not
	close(s.release)
	<-s.late
	w.logs.await(t, "abandoned reconciler returned")
	w.once(m)
	w.expectQueue("b", controller.QueueNone, 0, 0)
}

func TestDeadlineWinsOverALateResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	d := define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		w.clock.Advance(shortTimeout)
		<-ctx.Done()
		var timeout *controller.TimeoutError
		if err := context.Cause(ctx); !errors.As(err, &timeout) || timeout.Timeout != shortTimeout || timeout.Ref != ref("k") {
			t.Errorf("cause = %v", err)
		}
		return controller.Settled(nothing), nil
	})
	d.Timeout = shortTimeout
	w.once(w.manager(nil, d))
	w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
}

func TestRenewalKeepsALongPassAndEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	renewed := make(chan struct{}, 100)
	w.store.Hook(nil, func(op string) error {
		if op == "Renew" {
			renewed <- struct{}{}
		}
		return nil
	})
	s := newStubborn(func(context.Context, *controller.Pass) error { return nil })
	d := define(s.reconcile)
	d.Timeout = 95 * time.Second
	m := w.manager(nil, d)
	wait := w.goOnce(m)
	<-s.entered
	for n := range 9 { // three times the lease
		w.awaitTimers(min(2+n, 3))
		w.clock.Advance(lease.DefaultRenewal)
		<-renewed
	}
	w.expectQueue("k", controller.QueueClaimed, 0, 0)
	w.awaitTimers(3)
	w.clock.Advance(5 * time.Second)
	wait()
	w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
	w.clock.Advance(time.Hour)
	if len(renewed) > 0 {
		t.Error("renewed after the deadline")
	}
	close(s.release)
	<-s.late
}

// awaitTimers waits until the pass has armed its deadline, its renewal, once that
// was renewed the end of its lease, and what else a test expects.
func (w *world) awaitTimers(n int) {
	w.t.Helper()
	if err := w.clock.AwaitTimers(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

func TestALostClaimEndsThePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	entered := make(chan struct{})
	m := w.manager(nil, define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		close(entered)
		<-ctx.Done()
		return controller.RawResult{}, context.Cause(ctx)
	}))
	wait := w.goOnce(m)
	<-entered
	w.awaitTimers(2)
	w.clock.Advance(lease.DefaultDuration) // as if this machine had slept
	wait()
	if got := w.logs.await(t, "pass"); got["outcome"] != "lost" {
		t.Errorf("record = %v", got)
	}
}
