package controllerbench

import (
	"context"
	"runtime/debug"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// latency measures how long a request takes until its pass begins, in a manager
// that has nothing else to do.
func latency(m *meter) ([]bench.Result, error) {
	const resources, requests = 1000, 500
	count := min(resources, m.o.Resources)
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		if err := m.prepare(s, count); err != nil {
			return nil, err
		}
		begun := make(chan time.Time, 1)
		var took []time.Duration
		err := m.manage(s, m.note(begun), func() (err error) {
			took, err = m.request(s, begun, count, requests)
			return err
		})
		settings := map[string]any{"resources": count, "requests": len(took)}
		return []bench.Result{m.result("request to pass", "ms", settings).Of(took, time.Millisecond)}, err
	})
}

func (m *meter) prepare(s Store, count int) error {
	if err := m.load(s, count); err != nil {
		return err
	}
	return m.settleAll(s, count)
}

// note is a reconciler that tells when it began.
func (m *meter) note(begun chan<- time.Time) reconciler {
	return func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
		begun <- m.clock.Now()
		return controller.Settled(nothing), nil
	}
}

// request asks for passes one after the other, with a rest in between, for the
// time of a round at most.
func (m *meter) request(s Store, begun <-chan time.Time, resources, count int) (took []time.Duration, err error) {
	const rest = 2 * time.Millisecond
	for end := m.clock.Now().Add(m.o.Time); len(took) < count && (len(took) == 0 || m.clock.Now().Before(end)); {
		if err := clock.Sleep(m.ctx, m.clock, rest); err != nil {
			return took, err
		}
		start := m.clock.Now()
		if _, err := s.Enqueue(m.ctx, ref(keyOf(len(took)%resources)), name); err != nil {
			return took, err
		}
		select {
		case at := <-begun:
			took = append(took, at.Sub(start))
		case <-m.ctx.Done():
			return took, context.Cause(m.ctx)
		}
	}
	return took, nil
}

// idle measures the processor time of a manager that has nothing to do.
func idle(m *meter) ([]bench.Result, error) {
	count := min(FewResources, m.o.Resources)
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		if err := m.prepare(s, count); err != nil {
			return nil, err
		}
		var share float64
		err := m.manage(s, newCounter(0).settle, func() error {
			debug.FreeOSMemory() // what loading left behind is no part of it
			before, start := bench.CPUTime(), m.clock.Now()
			if err := clock.Sleep(m.ctx, m.clock, m.o.Time); err != nil {
				return err
			}
			const percent = 100
			share = percent * (bench.CPUTime() - before).Seconds() / m.clock.Now().Sub(start).Seconds()
			return nil
		})
		settings := map[string]any{"resources": count, "time": m.o.Time.String()}
		return []bench.Result{m.result("processor time", "% of a core", settings).With(share)}, err
	})
}

// memory measures what the process holds after it has put all resources and run
// a pass of each.
func memory(m *meter) ([]bench.Result, error) {
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		if err := m.prepare(s, m.o.Resources); err != nil {
			return nil, err
		}
		settings := map[string]any{"resources": m.o.Resources}
		return []bench.Result{m.result("resident memory", "MiB", settings).With(float64(bench.Resident()) / (1 << 20))}, nil
	})
}
