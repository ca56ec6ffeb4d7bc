package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
	"piworkflows/store/storetest"
)

// Whatever the store does to its manager, in the end every key is done and every
// effect was made once.
func TestFaultsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	rounds := uint64(3)
	if storetest.Stressed() {
		rounds = 200
	}
	for name, faults := range map[string]func(w *world) []storetest.Fault{
		"busy":             always(storetest.Fault{Err: storetest.ErrBusy}),
		"IO error":         always(storetest.Fault{Err: storetest.ErrIO}),
		"full disk":        always(storetest.Fault{Err: storetest.ErrFull}),
		"answers get lost": always(storetest.Fault{Err: storetest.ErrIO, Done: true}),
		"slow": func(w *world) []storetest.Fault {
			return []storetest.Fault{w.slow(lease.DefaultDuration / 4), w.slow(lease.DefaultDuration)}
		},
		"everything": func(w *world) []storetest.Fault {
			return []storetest.Fault{
				{Err: storetest.ErrBusy}, {Err: storetest.ErrFull}, {Err: storetest.ErrIO, Done: true},
				w.slow(lease.DefaultDuration / 4), w.slow(lease.DefaultDuration),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range rounds {
				s := newStorm(t)
				s.store.Storm(seed, 4, faults(s.world)...)
				s.weather()
				s.check(seed)
			}
		})
	}
}

func always(f storetest.Fault) func(*world) []storetest.Fault {
	return func(*world) []storetest.Fault { return []storetest.Fault{f} }
}

// slow is an operation that takes its time; after that of a lease, the claim is lost.
func (w *world) slow(d time.Duration) storetest.Fault {
	return storetest.Fault{Delay: func() { w.clock.Advance(d) }}
}

// hasty is a clock on which nobody waits for the store in vain: time passes for
// them at once.
type hasty struct{ *clocktest.Manual }

func (h hasty) NewTimer(d time.Duration) clock.Timer {
	if d < lease.DefaultRenewal {
		h.Advance(d)
		d = 0
	}
	return h.Manual.NewTimer(d)
}

// storm is a world with keys that each want two effects and a child run.
type storm struct {
	*world
	provider  *provider
	scheduler *scheduler
	manager   func(*idling) *controller.Manager
}

const stormKeys = 5

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{world: newWorld(t), provider: newProvider(), scheduler: newScheduler("w")}
	for i := range stormKeys {
		s.put(strconv.Itoa(i), `1`)
	}
	s.manager = func(i *idling) *controller.Manager {
		return s.world.manager(func(o *controller.ManagerOptions) {
			o.Store, o.Observer, o.Clock, o.Scheduler = i, i, hasty{s.clock}, s.scheduler
			o.StopGrace = time.Hour // a slow store is no pass that ignores its end
		}, define(s.reconcile))
	}
	return s
}

func (s *storm) reconcile(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
	for _, effect := range []string{"first", "second"} {
		if _, err := p.Effects.Ensure(ctx, s.provider.effect(r.Metadata.Key+" "+effect)); err != nil {
			return controller.RawResult{}, err
		}
	}
	child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "r", Workflow: "w", Input: 1})
	if err != nil {
		return controller.RawResult{}, err
	}
	return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(child.State) + `"`)}), nil
}

// weather lets workers and runners go on until nothing is left to do.
func (s *storm) weather() {
	s.t.Helper()
	for range 1000 {
		if err := untilIdle(s.t.Context(), s.store, s.manager); err != nil {
			s.t.Fatal(err)
		}
		s.runChildren()
		left, err := s.store.Inner().Backlog(s.t.Context(), []string{"c"})
		if err != nil {
			s.t.Fatal(err)
		}
		if left.Claimed+left.Ready+left.Delayed+left.Runs == 0 {
			return
		}
		s.clock.Advance(lease.DefaultDuration)
	}
	s.t.Fatal("it does not come to an end")
}

// runChildren runs child runs, as a host that gives up whenever the store fails.
func (s *storm) runChildren() {
	ctx := s.t.Context()
	for {
		c, err := s.store.ClaimRun(ctx, runqueue.ClaimQuery{}, lease.DefaultDuration)
		if c == nil || err != nil {
			return
		}
		if s.store.StartChild(ctx, c) == nil {
			_ = s.store.FinishChild(ctx, c, controller.ChildOutcome{State: controller.RunSucceeded})
		}
	}
}

func (s *storm) check(seed uint64) {
	s.t.Helper()
	applied := map[string]int{}
	for _, call := range s.provider.calls() {
		applied[call]++
	}
	for i := range stormKeys {
		key := strconv.Itoa(i)
		for _, effect := range []string{"first", "second"} {
			if n := applied[fmt.Sprintf("apply %s %s", key, effect)]; n != 1 {
				s.t.Errorf("seed %d: the %s effect of %s was made %d times", seed, effect, key, n)
			}
		}
		if got := string(s.get(key).Status.ControllerStatus); got != `"succeeded"` {
			s.t.Errorf("seed %d: %s ended as %s", seed, key, got)
		}
		children, err := s.store.Inner().Children(s.t.Context(), ref(key))
		if err != nil || len(children) != 1 || children[0].State != controller.RunSucceeded || children[0].Attempt != 1 {
			s.t.Errorf("seed %d: children of %s: %+v, %v", seed, key, children, err)
		}
	}
}
