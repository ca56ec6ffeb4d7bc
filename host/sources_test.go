package host_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
)

// puppet is a source that does what a test orders.
type puppet struct {
	orders chan func(in controller.Intake) error
}

func (puppet) Name() string { return "puppet" }

func (p puppet) Run(ctx context.Context, in controller.Intake) error {
	for {
		select {
		case order := <-p.orders:
			if err := order(in); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// telling is a store that tells what is recorded of sources.
type telling struct {
	host.Store
	told chan controller.SourceStatus
	// broken has RecordSources fail, and tell it.
	broken *atomic.Bool
	failed chan struct{}
}

func (s telling) RecordSources(ctx context.Context, list []controller.SourceStatus) error {
	if s.broken.Load() {
		s.failed <- struct{}{}
		return errors.New("the disk is full")
	}
	if err := s.Store.RecordSources(ctx, list); err != nil {
		return err
	}
	for _, status := range list {
		s.told <- status
	}
	return nil
}

// stage is a host that runs a puppet of the controller later, which has the
// resource k.
type stage struct {
	*testing.T

	w      *world
	puppet puppet
	store  telling
	stop   func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, puppet: puppet{make(chan func(controller.Intake) error)}}
	s.w = openWorldAt(t, t.TempDir(), newWork(), clock.System())
	s.w.catalog = compile(t, controller.Define("later", later{}, controller.WithSources(s.puppet)))
	if _, err := s.w.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "later", Key: "k"}, Spec: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin runs a host until the end function that it sets.
func (s *stage) begin() {
	s.Helper()
	s.store = telling{s.w.store, make(chan controller.SourceStatus, 10), &atomic.Bool{}, make(chan struct{}, 10)}
	h, err := host.New(s.Context(), s.w.options(), s.store)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	s.stop = func() {
		s.Helper()
		cancel()
		if err := errors.Join(await(s.T, ended), h.Close()); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *stage) order(f func(in controller.Intake) error) {
	s.Helper()
	done := make(chan struct{})
	select {
	case s.puppet.orders <- func(in controller.Intake) error { defer close(done); return f(in) }:
		await(s.T, done)
	case <-s.Context().Done():
		s.Fatal("the source does not run")
	}
}

func (s *stage) deliver(d controller.Delivery) {
	s.Helper()
	s.order(func(in controller.Intake) error { _, err := in.Deliver(s.Context(), d); return err })
}

// want awaits what is told next, and that others read the same.
func (s *stage) want(state controller.SourceState, counters controller.SourceCounters) controller.SourceStatus {
	s.Helper()
	got := await(s.T, s.store.told)
	if got.State != state {
		s.Errorf("the source is %s, want %s", got.State, state)
	}
	if diff := cmp.Diff(counters, got.SourceCounters); diff != "" {
		s.Errorf("counters (-want +got):\n%s", diff)
	}
	return got
}

func TestWhatASourceDoesIsToldToOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, whatASourceDoesIsToldToOtherProcesses)
}

func whatASourceDoesIsToldToOtherProcesses(t *testing.T) {
	t.Helper()
	s := newStage(t)
	s.begin()
	counters := controller.SourceCounters{}
	s.want(controller.SourceRunning, counters)

	s.deliver(controller.Delivery{ID: "1", Keys: []string{"k", "unknown"}})
	s.deliver(controller.Delivery{ID: "1", Keys: []string{"k", "unknown"}})
	s.order(func(in controller.Intake) error {
		in.Refused("wrong signature")
		in.Failed(errors.New("no route"))
		in.Degraded("") // it was not
		return nil
	})
	next := s.w.clock.Now().Add(time.Hour)
	s.order(func(in controller.Intake) error { in.Next(next); in.Degraded("no watches are left"); return nil })
	counters = controller.SourceCounters{Deliveries: 1, Duplicates: 1, Enqueued: 1, Unknown: 1, Refused: 1, Errors: 1}
	got := s.want(controller.SourceDegraded, counters)
	if got.NextAt == nil || !got.NextAt.Equal(next) || got.Reason != "no watches are left" || got.LastError != "no route" || got.LastRefusal != "wrong signature" {
		t.Errorf("told: %+v", got)
	}
	s.order(func(in controller.Intake) error { in.Degraded(""); return nil })
	s.want(controller.SourceRunning, counters)

	s.order(func(controller.Intake) error { return errors.New("the connection is gone") })
	counters.Errors, counters.Restarts = 2, 1
	got = s.want(controller.SourceRestarting, counters)
	if got.LastError != "the connection is gone" || got.NextAt == nil || !got.NextAt.Equal(s.w.clock.Now().Add(time.Second)) {
		t.Errorf("told: %+v", got)
	}
	if got := await(t, s.store.told); got.State != controller.SourceRunning || got.NextAt != nil {
		t.Errorf("told: %+v", got)
	}

	s.stop()
	s.want(controller.SourceStopped, counters)
	s.begin()
	s.deliver(controller.Delivery{ID: "2"})
	for got.Deliveries != 2 { // its begin may be told before
		got = await(t, s.store.told)
	}
	s.stop()
	told, err := s.w.store.Sources(t.Context())
	if err != nil || len(told) != 1 || told[0].State != controller.SourceStopped || told[0].Deliveries != 2 || told[0].Errors != 2 {
		t.Errorf("Sources = %+v, %v", told, err)
	}
}

func TestADeliveryThatTheStoreRefusesIsOneError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, aDeliveryThatTheStoreRefusesIsOneError)
}

func aDeliveryThatTheStoreRefusesIsOneError(t *testing.T) {
	t.Helper()
	s := newStage(t)
	s.begin()
	s.want(controller.SourceRunning, controller.SourceCounters{})
	s.deliver(controller.Delivery{Keys: make([]string, controller.MaxDeliveryKeys+1)})
	s.want(controller.SourceRestarting, controller.SourceCounters{Errors: 1, Restarts: 1})
	s.stop()
}

func TestCountsThatCannotBeWrittenAreWrittenLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, countsThatCannotBeWrittenAreWrittenLater)
}

func countsThatCannotBeWrittenAreWrittenLater(t *testing.T) {
	t.Helper()
	s := newStage(t)
	s.begin()
	s.want(controller.SourceRunning, controller.SourceCounters{})
	s.store.broken.Store(true)
	s.order(func(in controller.Intake) error { in.Degraded("slow"); return nil })
	await(t, s.store.failed)
	s.store.broken.Store(false)
	if got := await(t, s.store.told); got.State != controller.SourceDegraded {
		t.Errorf("told: %+v", got)
	}
	s.stop()
}
