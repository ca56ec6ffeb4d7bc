package controllerbench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// reconcile measures passes that change nothing, in a small and in a large store
// in which every resource waits for its pass.
func reconcile(m *meter) ([]bench.Result, error) {
	var results []bench.Result
	for _, count := range []int{min(FewResources, m.o.Resources), m.o.Resources} {
		measured, err := m.in(fmt.Sprintf("-%d", count), func(s Store, _ string) ([]bench.Result, error) {
			if err := m.load(s, count); err != nil {
				return nil, err
			}
			return m.passes(s, count)
		})
		if err != nil {
			return results, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

// passes measures passes over a store in which so many resources wait.
func (m *meter) passes(s Store, count int) ([]bench.Result, error) {
	return m.median("passes", map[string]any{"resources": count}, func() (p pace, err error) {
		if _, err := s.RebuildQueue(m.ctx); err != nil {
			return p, err
		}
		c := newCounter(count)
		err = m.manage(s, c.settle, func() (err error) {
			p, err = m.during(c)
			return err
		})
		return p, err
	})
}

// effectsEach is how many effects a resource has in a round. A key that runs
// again at once more often than that is slowed down.
const effectsEach = controller.FreeRequeues - 1

// effects measures passes that apply one effect each; the last pass of each
// resource finds its effects applied.
func effects(m *meter) ([]bench.Result, error) {
	const resources = 1000
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		if err := m.load(s, resources); err != nil {
			return nil, err
		}
		round := 0
		settings := map[string]any{"resources": resources, "effectsOfAResource": effectsEach}
		return m.median("passes with one effect", settings, func() (p pace, err error) {
			round++
			if _, err := s.RebuildQueue(m.ctx); err != nil {
				return p, err
			}
			a := newApplier(round, resources)
			err = m.manage(s, a.reconcile, func() (err error) {
				p, err = m.during(a.applied)
				return err
			})
			return p, err
		})
	})
}

// applier gives each resource a number of effects, one a pass.
type applier struct {
	round   int
	applied *counter
	// given counts the effects of each resource; one pass works on it at a time.
	given []atomic.Int64
}

func newApplier(round, resources int) *applier {
	return &applier{round, newCounter(resources * effectsEach), make([]atomic.Int64, resources)}
}

func (a *applier) reconcile(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
	var i int
	if _, err := fmt.Sscanf(r.Metadata.Key, "resource-%d", &i); err != nil {
		return controller.RawResult{}, fmt.Errorf("key of a resource: %w", err)
	}
	n := a.given[i].Add(1)
	if n > effectsEach {
		return controller.Settled(nothing), nil
	}
	_, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: fmt.Sprintf("merge:%d:%d", a.round, n), Kind: "bench-merge", Request: map[string]any{"number": n},
		Observe: func(context.Context) (controller.Observation, error) {
			return controller.Observation{State: controller.ObservedNotApplied}, nil
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			a.applied.add()
			return controller.Application{State: controller.EffectApplied, ExternalRef: "https://forge.example/1"}, nil
		},
	})
	return controller.Settled(nothing), err
}

// puts measures new resources, put by as many callers as there are workers.
func puts(m *meter) ([]bench.Result, error) {
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		round := 0
		return m.median("puts", map[string]any{"specBytes": len(spec)}, func() (pace, error) {
			round++
			watch := m.start()
			count, err := m.put(s, m.o.Workers, fmt.Sprintf("%d-", round), func(int64) bool {
				return m.ctx.Err() == nil && m.clock.Now().Sub(watch.began) < m.o.Time
			})
			return watch.stop(count), errors.Join(err, context.Cause(m.ctx))
		})
	})
}
