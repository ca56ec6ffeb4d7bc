package controller_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// gate counts who is inside, and holds them until they may leave.
type gate struct {
	mu      sync.Mutex
	inside  map[string]int
	most    map[string]int
	entered chan string
	leave   chan struct{}
}

func newGate() *gate {
	return &gate{inside: map[string]int{}, most: map[string]int{}, entered: make(chan string, 1000), leave: make(chan struct{})}
}

// pass goes through the gate as each of the names.
func (g *gate) pass(names ...string) {
	g.count(1, names)
	g.entered <- names[0]
	<-g.leave
	g.count(-1, names)
}

func (g *gate) count(n int, names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		g.inside[name] += n
		g.most[name] = max(g.most[name], g.inside[name])
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := newGate()
	body := func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		g.pass(r.Metadata.Controller, "all")
		return controller.Settled(nothing), nil
	}
	one := &controller.Definition{Name: "one", Concurrency: 9, Reconcile: body}
	many := &controller.Definition{Name: "many", Reconcile: body}
	m := w.manager(func(o *controller.ManagerOptions) {
		o.Workers, o.Concurrency = 3, map[string]int{"one": 1}
	}, one, many)
	const keys = 5
	for i := range keys {
		for _, d := range []*controller.Definition{one, many} {
			if _, err := controller.PutSpec(t.Context(), w.store, d, put(`1`, strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop := w.start(m)
	for range 3 {
		<-g.entered
	}
	close(g.leave)
	for range 2*keys - 3 {
		<-g.entered
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if g.most["one"] != 1 || g.most["all"] != 3 {
		t.Errorf("most at once = %v, want 1 of one and 3 of all", g.most)
	}
}

func TestAWakeUpReachesAnIdleManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waiting := make(chan struct{}, 100)
	w.store.Hook(func(op string) error {
		if op == "WaitDue" {
			waiting <- struct{}{}
		}
		return nil
	}, nil)
	stop := w.start(w.manager(nil, define(answering(controller.RequeueAfter(time.Minute, nothing), nil))))
	<-waiting
	w.put("k", `1`)
	w.logs.await(t, "pass")
	<-waiting
	if _, err := w.store.Enqueue(t.Context(), ref("k"), "test"); err != nil {
		t.Fatal(err)
	}
	w.logs.await(t, "pass")
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestStoreErrorsNeverEndTheLoop(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Claim", "WaitDue"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.store.Fail(op, 3, errors.New("disk full"))
			stop := w.start(w.manager(nil, define(answering(controller.Settled(nothing), nil))))
			for i, delay := range []float64{100, 200, 400} {
				got := w.logs.await(t, "store failed, trying again")
				if got["failures"] != float64(i+1) || got["afterMs"] != delay || got["error"] != "disk full" {
					t.Errorf("record = %v, want failure %d", got, i+1)
				}
				w.awaitTimers(1)
				w.clock.Advance(time.Duration(delay) * time.Millisecond)
			}
			w.put("k", `1`)
			w.logs.await(t, "pass")
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFinishIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	passes := 0
	m := w.manager(nil, define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
		passes++
		return controller.Settled(nothing), nil
	}))
	w.store.Fail("Finish", 2, errors.New("busy"))
	wait := w.goOnce(m)
	for range 2 {
		w.logs.await(t, "store failed, trying again")
		w.awaitTimers(3) // renewal, bound of the finish, pause
		w.clock.Advance(time.Second)
	}
	wait()
	w.expectQueue("k", controller.QueueNone, 0, 0)
	if passes != 1 {
		t.Errorf("%d passes", passes)
	}
}

func TestAStoreThatTakesNoEndLosesTheClaimOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	m := w.manager(nil, define(answering(controller.Settled(nothing), nil)))
	down := errors.New("down")
	w.store.Hook(func(op string) error {
		if op == "Finish" || op == "Renew" {
			return down
		}
		return nil
	}, nil)
	done := make(chan error, 1)
	go func() {
		_, err := m.RunOnce(t.Context())
		done <- err
	}()
	w.logs.await(t, "store failed, trying again")
	w.awaitTimers(3)
	w.clock.Advance(time.Minute)
	if err := <-done; !errors.Is(err, down) {
		t.Errorf("RunOnce = %v", err)
	}
	if got := w.logs.await(t, "pass"); got["outcome"] != "unrecorded" {
		t.Errorf("record = %v", got)
	}
	w.store.Hook(nil, nil)
	w.once(m)
	if got := m.Stats(); got.Running != 0 {
		t.Errorf("stats = %+v", got)
	}
}

func TestAWriteThatTheStoreRefusesFailsThePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("k", `1`)
	w.store.Fail("Finish", 1, &controller.LimitError{What: "x", Limit: 1, Size: 2, Unit: "bytes"})
	w.once(w.manager(nil, define(answering(controller.Settled(nothing), nil))))
	w.expectQueue("k", controller.QueueDelayed, time.Second, 1)
}

func TestTwoManagersNeverRunOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	const keys, rounds = 8, 5
	dir, g := t.TempDir(), newGate()
	close(g.leave)
	stores := []controller.Store{openStore(t, dir, clock.System()), openStore(t, dir, clock.System())}
	done := make(chan struct{}, keys)
	var mu sync.Mutex
	passes := map[string]int{}
	d := define(func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		key := r.Metadata.Key
		g.pass(key)
		mu.Lock()
		defer mu.Unlock()
		if passes[key]++; passes[key] < rounds {
			return controller.Requeue(nothing), nil
		}
		done <- struct{}{}
		return controller.Settled(nothing), nil
	})
	for i := range keys {
		if _, err := controller.PutSpec(t.Context(), stores[0], d, put(`1`, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, len(stores))
	for _, s := range stores {
		m, err := controller.NewManager(controller.ManagerOptions{Store: s, Definitions: []*controller.Definition{d}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- m.Run(ctx) }()
	}
	for range keys {
		<-done
	}
	cancel()
	for range stores {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for key, most := range g.most {
		if most != 1 {
			t.Errorf("key %s was reconciled %d times at once", key, most)
		}
	}
	for key, n := range passes {
		if n != rounds {
			t.Errorf("key %s had %d passes, want %d", key, n, rounds)
		}
	}
}
