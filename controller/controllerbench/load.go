package controllerbench

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// name is the controller of everything that is measured.
const name = "bench"

// loaders put beside each other while a store is filled, which is not measured.
const loaders = 64

var (
	spec    = json.RawMessage(`{"image":"registry.example/app:1.2.3","replicas":3}`)
	nothing = controller.Patch[json.RawMessage]{}
)

func ref(key string) controller.Ref { return controller.Ref{Controller: name, Key: key} }

func keyOf(i int) string { return "resource-" + strconv.Itoa(i) }

// load puts so many resources.
func (m *meter) load(s Store, count int) error {
	_, err := m.put(s, loaders, "resource-", func(done int64) bool { return done < int64(count) })
	return err
}

// put lets callers put new resources beside each other as long as more says so,
// and returns how many there are then.
func (m *meter) put(s Store, callers int, prefix string, more func(done int64) bool) (int64, error) {
	var begun atomic.Int64
	failed := make([]error, callers)
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			for failed[i] == nil {
				n := begun.Add(1) - 1
				if !more(n) {
					begun.Add(-1)
					return
				}
				failed[i] = m.putOne(m.ctx, s, prefix+strconv.FormatInt(n, 10))
			}
		})
	}
	running.Wait()
	return begun.Load(), errors.Join(failed...)
}

func (m *meter) putOne(ctx context.Context, s controller.Store, key string) error {
	_, err := s.Put(ctx, controller.Put{Ref: ref(key), Spec: spec, Actor: name})
	return err
}

// reconciler is a controller of this benchmark.
type reconciler func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error)

// manage runs a manager while f runs.
func (m *meter) manage(s Store, reconcile reconciler, f func() error) error {
	manager, err := controller.NewManager(controller.ManagerOptions{
		Store: s, Logger: m.o.Logger, Workers: m.o.Workers,
		Definitions: []*controller.Definition{{Name: name, Reconcile: reconcile}},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(m.ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx) }()
	err = f()
	stop()
	return errors.Join(err, <-ended)
}

// counter counts passes until there are enough of them.
type counter struct {
	done   atomic.Int64
	enough int64
	full   chan struct{}
}

func newCounter(enough int) *counter {
	return &counter{enough: int64(enough), full: make(chan struct{})}
}

func (c *counter) add() {
	if c.done.Add(1) == c.enough {
		close(c.full)
	}
}

// settle counts a pass that changes nothing.
func (c *counter) settle(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
	c.add()
	return controller.Settled(nothing), nil
}

// during waits until a counter is full or the time of a round is over, and
// returns how fast it counted.
func (m *meter) during(c *counter) (pace, error) {
	watch := m.start()
	timer := m.clock.NewTimer(m.o.Time)
	defer timer.Stop()
	select {
	case <-c.full:
	case <-timer.C():
	case <-m.ctx.Done():
		return pace{}, context.Cause(m.ctx)
	}
	return watch.stop(c.done.Load()), nil
}

// stopwatch measures time and processor time.
type stopwatch struct {
	clock clock.Clock
	began time.Time
	cpu   time.Duration
}

func (m *meter) start() stopwatch { return stopwatch{m.clock, m.clock.Now(), bench.CPUTime()} }

// stop returns how fast so many things were done.
func (w stopwatch) stop(done int64) pace {
	return pace{
		float64(done) / w.clock.Now().Sub(w.began).Seconds(),
		(bench.CPUTime() - w.cpu) / time.Duration(max(done, 1)),
	}
}

// settleAll runs passes until none is due, however long it takes.
func (m *meter) settleAll(s Store, count int) error {
	c := newCounter(count)
	return m.manage(s, c.settle, func() error {
		select {
		case <-c.full:
			return nil
		case <-m.ctx.Done():
			return context.Cause(m.ctx)
		}
	})
}
