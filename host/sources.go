package host

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// The delay before a source that ended is started again doubles up to a bound. One
// that ran longer than the bound begins with the shortest delay again.
const (
	sourceRetryBase = time.Second
	sourceRetryMax  = time.Minute
)

// errSourceEnded is the error of a source that returned none.
var errSourceEnded = errors.New("the source ended without an error and without being asked to")

// sources runs every source of the loaded controllers until ctx ends.
type sources struct {
	store   Store
	catalog *Catalog
	clock   clock.Clock
	records controller.Observer
}

func (s sources) run(ctx context.Context) {
	for ctx.Err() == nil {
		ctx, cancel := s.catalog.generation(ctx)
		s.generation(ctx)
		<-ctx.Done()
		cancel()
	}
}

// generation runs the sources of the definitions of this moment. When these change,
// all sources begin anew, from their cursors.
func (s sources) generation(ctx context.Context) {
	var active, writing sync.WaitGroup
	ledger := newLedger(s.store, s.clock, s.records)
	starts := s.meters(ctx, ledger)
	if len(starts) == 0 {
		return
	}
	told, stop := context.WithCancel(context.WithoutCancel(ctx))
	writing.Go(func() { ledger.run(told) })
	for _, start := range starts {
		active.Go(start)
	}
	active.Wait()
	stop()
	writing.Wait()
}

// meters makes a meter for each source, and returns what runs them.
func (s sources) meters(ctx context.Context, ledger *sourceLedger) (starts []func()) {
	for info, source := range s.catalog.outside() {
		m := ledger.meter(info)
		starts = append(starts, func() { s.supervise(ctx, source, m) })
	}
	return starts
}

// supervise keeps one source running: one that ends is started again with a
// growing delay and never takes the host down.
func (s sources) supervise(ctx context.Context, source controller.Source, m *meter) {
	delay := sourceRetryBase
	for ctx.Err() == nil {
		started := s.clock.Now()
		err := s.once(ctx, source, m)
		if ctx.Err() != nil {
			break
		}
		if s.clock.Now().Sub(started) > sourceRetryMax {
			delay = sourceRetryBase
		}
		m.ended(err)
		m.restarting(delay)
		_ = clock.Sleep(ctx, s.clock, delay)
		delay = min(2*delay, sourceRetryMax)
	}
	m.enter(controller.SourceStopped, "")
}

// once runs a source to its end, which is an error whatever it was.
func (s sources) once(ctx context.Context, source controller.Source, m *meter) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &controller.PanicError{In: "source " + source.Name(), Value: value, Stack: debug.Stack()}
		}
	}()
	cursor, err := s.store.SourceCursor(ctx, m.info.Controller, m.info.Source)
	if err != nil {
		return err
	}
	m.enter(controller.SourceRunning, "")
	err = source.Run(ctx, controller.Intake{
		Controller: m.info.Controller, Cursor: cursor, Clock: s.clock, Feed: s.store,
		Deliver: s.deliver(m), Refused: m.refused, Failed: m.failed, Degraded: m.degraded, Next: m.next,
	})
	if err == nil {
		err = errSourceEnded
	}
	return err
}

// deliver is the way in of one source.
func (s sources) deliver(m *meter) controller.Deliver {
	return func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
		d.Source = m.info.Source
		r, err := s.store.Deliver(ctx, m.info.Controller, d)
		switch {
		case err == nil && d.ID == "" && len(d.Keys) == 0:
			// only the cursor moved: nothing came
		case err == nil:
			m.delivered(r)
		case ctx.Err() == nil:
			m.undelivered(err)
		}
		return r, err
	}
}
