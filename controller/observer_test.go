package controller_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// witness keeps the records that it hears, without their reconcile IDs.
type witness struct {
	mu   sync.Mutex
	list []controller.Record
	ids  map[string]bool
}

func (s *witness) Observe(r controller.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, s.plain(r))
}

func (s *witness) plain(r controller.Record) controller.Record {
	switch r := r.(type) {
	case controller.PassStarted:
		r.PassInfo = s.anonymous(r.PassInfo)
		return r
	case controller.PassEnded:
		r.PassInfo = s.anonymous(r.PassInfo)
		return r
	case controller.EffectChanged:
		r.PassInfo = s.anonymous(r.PassInfo)
		return r
	case controller.ChildChanged:
		r.RequestID, r.RunID = "", ""
		return r
	default:
		return r
	}
}

func (s *witness) anonymous(p controller.PassInfo) controller.PassInfo {
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	s.ids[p.ReconcileID] = true
	p.ReconcileID = ""
	return p
}

func (s *witness) watch(o *controller.ManagerOptions) { o.Observer = s }

// expect compares all that was heard since the last time.
func (s *witness) expect(t *testing.T, want ...controller.Record) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })
	if diff := cmp.Diff(want, s.list, errs); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	s.list = nil
}

// passOf identifies a pass of a key at its first generation.
func passOf(key string) controller.PassInfo { return controller.PassInfo{Ref: ref(key), Generation: 1} }

func TestAnObserverHearsOfEveryPassWithItsWaitAndItsNextTry(t *testing.T) {
	t.Parallel()
	w, heard := newWorld(t), &witness{}
	results := []func() (controller.RawResult, error){
		func() (controller.RawResult, error) { return controller.RawResult{}, errors.New("not yet") },
		func() (controller.RawResult, error) { return controller.RequeueAfter(time.Minute, nothing), nil },
		func() (controller.RawResult, error) { return controller.Settled(nothing), nil },
	}
	m := w.manager(heard.watch, define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
		w.clock.Advance(time.Second)
		next := results[0]
		results = results[1:]
		return next()
	}))
	w.put("k", `1`)
	w.clock.Advance(3 * time.Second)
	w.once(m)
	heard.expect(t,
		controller.PassStarted{PassInfo: passOf("k"), Waited: 3 * time.Second},
		controller.PassEnded{
			PassInfo: passOf("k"), Outcome: controller.PassFailed, Duration: time.Second,
			Reason: controller.ReasonErrorBackoff, After: time.Second, Err: errors.New("not yet"),
		})
	w.clock.Advance(time.Second)
	w.once(m)
	heard.expect(t,
		controller.PassStarted{PassInfo: passOf("k"), Lane: controller.LaneEvent, Again: true},
		controller.PassEnded{
			PassInfo: passOf("k"), Outcome: controller.PassRequeued, Duration: time.Second,
			Reason: controller.ReasonDelay, After: time.Minute,
		})
	w.clock.Advance(90 * time.Second)
	w.once(m)
	heard.expect(t,
		controller.PassStarted{PassInfo: passOf("k"), Lane: controller.LaneEvent, Waited: 30 * time.Second},
		controller.PassEnded{PassInfo: passOf("k"), Outcome: controller.PassSettled, Duration: time.Second})
	if len(heard.ids) != 3 {
		t.Errorf("three passes have the IDs %v", heard.ids)
	}
}

func TestAnObserverHearsOfEffectsAndChildren(t *testing.T) {
	t.Parallel()
	w, heard, outside := newWorld(t), &witness{}, newProvider()
	outside.apply = func(context.Context) (controller.Application, error) {
		return controller.Application{}, errors.New("no answer")
	}
	m := w.manager(func(o *controller.ManagerOptions) {
		heard.watch(o)
		o.Scheduler = newScheduler("work")
	}, define(func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		if _, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "r", Workflow: "work"}); err != nil {
			return controller.RawResult{}, err
		}
		_, err := p.Effects.Ensure(ctx, outside.effect("e"))
		return controller.Settled(nothing), err
	}))
	w.put("k", `1`)
	w.once(m)
	doubt := errors.New(`effect "e" is indeterminate and will be observed: no answer`)
	heard.expect(t,
		controller.PassStarted{PassInfo: passOf("k")},
		controller.ChildChanged{
			ChildInfo: controller.ChildInfo{Workflow: "work", Attempt: 1}, Ref: ref("k"), State: controller.RunPending,
		},
		controller.EffectChanged{
			PassInfo: passOf("k"), Effect: "e", Kind: "test", State: controller.EffectPending, Event: controller.EventEffectPending,
		},
		controller.EffectChanged{
			PassInfo: passOf("k"), Effect: "e", Kind: "test", State: controller.EffectIndeterminate,
			Event: controller.EventEffectIndeterminate, Err: "no answer",
		},
		controller.PassEnded{
			PassInfo: passOf("k"), Outcome: controller.PassRequeued, Reason: controller.ReasonEffectUnsettled,
			After: time.Second, Err: doubt,
		})
	w.clock.Advance(time.Second)
	w.once(m)
	heard.expect(t,
		controller.PassStarted{PassInfo: passOf("k"), Lane: controller.LaneEvent, Again: true},
		controller.EffectChanged{
			PassInfo: passOf("k"), Effect: "e", Kind: "test", State: controller.EffectApplied, Event: controller.EventEffectRecovered,
		},
		controller.PassEnded{PassInfo: passOf("k"), Outcome: controller.PassSettled})
}

func TestAnObserverHearsOfALostClaimAndAnAbandonedReconciler(t *testing.T) {
	t.Parallel()
	w, heard := newWorld(t), &witness{}
	entered, release := make(chan struct{}), make(chan struct{})
	m := w.manager(heard.watch, define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
		close(entered)
		<-release
		return controller.RawResult{}, errors.New("late")
	}))
	w.put("k", `1`)
	wait := w.goOnce(m)
	<-entered
	w.awaitTimers(2)
	w.clock.Advance(10 * time.Minute) // as if this machine had slept
	wait()
	close(release)
	w.logs.await(t, "abandoned reconciler returned")
	heard.mu.Lock()
	defer heard.mu.Unlock()
	var kinds []string
	for _, r := range heard.list {
		switch r := r.(type) {
		case controller.PassStarted:
			kinds = append(kinds, "started")
		case controller.PassEnded:
			kinds = append(kinds, string(r.Outcome))
		case controller.PassAbandoned:
			kinds = append(kinds, "abandoned")
		}
	}
	if diff := cmp.Diff([]string{"started", "lost", "abandoned"}, kinds); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestAManagerHasNoNeedOfAnObserver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(func(o *controller.ManagerOptions) { o.Logger = nil }, define(answering(controller.Settled(nothing), nil)))
	w.put("k", `1`)
	w.once(m)
	w.expectQueue("k", controller.QueueNone, 0, 0)
}
