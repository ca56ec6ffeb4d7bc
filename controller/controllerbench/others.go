package controllerbench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// OtherPut is a put of another process.
type OtherPut struct {
	Key string `json:"key"`
	// Began is on the clock of the machine.
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"`
}

// OtherProcess puts resources until ctx ends, with a rest between them, and tells
// of each put. It is what Options.Other runs in its process.
func OtherProcess(ctx context.Context, s controller.Store, tell func(OtherPut) error) error {
	const rest = 20 * time.Millisecond
	m := &meter{ctx: ctx, clock: clock.System()}
	for i := 0; clock.Sleep(ctx, m.clock, rest) == nil; i++ {
		p := OtherPut{Key: fmt.Sprintf("other-%d", i), Began: m.clock.Now()}
		err := m.putOne(context.WithoutCancel(ctx), s, p.Key)
		if p.Took = m.clock.Now().Sub(p.Began); err == nil {
			err = tell(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// others lets another process put for the time of a round.
func (m *meter) others(path string) ([]OtherPut, error) {
	ctx, cancel := clock.WithTimeoutCause(m.ctx, m.clock, m.o.Time, context.DeadlineExceeded)
	defer cancel()
	return m.o.Other(ctx, path)
}

// other measures puts of another process while this one has passes to run all
// the time.
func other(m *meter) ([]bench.Result, error) {
	const resources = 1000
	count := min(resources, m.o.Resources)
	return m.in("", func(s Store, path string) ([]bench.Result, error) {
		if err := m.load(s, count); err != nil {
			return nil, err
		}
		c := newCounter(0)
		var puts []OtherPut
		var passes float64
		err := m.manage(s, c.busy, func() (err error) {
			watch := m.start()
			puts, err = m.others(path)
			passes = watch.stop(c.done.Load()).perSecond
			return err
		})
		took := make([]time.Duration, len(puts))
		for i, p := range puts {
			took[i] = p.Took
		}
		settings := map[string]any{"resources": count, "puts": len(puts)}
		return []bench.Result{
			m.result("put of another process", "ms", settings).Of(took, time.Millisecond),
			m.result("passes meanwhile", "passes/s", settings).With(passes),
		}, err
	})
}

// busy counts a pass after which the key is due again at once.
func (c *counter) busy(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
	c.add()
	return controller.RequeueAfter(time.Millisecond, nothing), nil
}

// notice measures how long after a put of another process its pass begins here,
// where nothing else is to be done.
func notice(m *meter) ([]bench.Result, error) {
	return m.in("", func(s Store, path string) ([]bench.Result, error) {
		var a arrivals
		var puts []OtherPut
		err := m.manage(s, a.note(m.clock), func() (err error) {
			puts, err = m.others(path)
			return err
		})
		waited := a.after(puts)
		settings := map[string]any{"puts": len(waited)}
		return []bench.Result{m.result("put of another process to pass", "ms", settings).Of(waited, time.Millisecond)}, err
	})
}

// arrivals are the beginnings of passes, by key.
type arrivals struct{ began sync.Map }

func (a *arrivals) note(c clock.Clock) reconciler {
	return func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		a.began.Store(r.Metadata.Key, c.Now())
		return controller.Settled(nothing), nil
	}
}

// after returns how long after the end of each put its pass began. The last put
// may have had none.
func (a *arrivals) after(puts []OtherPut) []time.Duration {
	var waited []time.Duration
	for _, p := range puts {
		if at, ok := a.began.Load(p.Key); ok {
			began, _ := at.(time.Time) // nothing else is stored
			waited = append(waited, max(0, began.Sub(p.Began.Add(p.Took))))
		}
	}
	return waited
}
