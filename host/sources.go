package host

import (
	"context"
	"errors"
	"maps"
	"reflect"
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
	ledger := newLedger(s.store, s.clock, s.records)
	told, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	writing.Go(func() { ledger.run(told) })
	running := map[controller.SourceInfo]*supervised{}
	for ctx.Err() == nil {
		changed := s.catalog.next()
		s.adapt(ctx, ledger, running)
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	end(running)
	stop()
	writing.Wait()
}

// supervised is a source that is kept running.
type supervised struct {
	source controller.Source
	stop   context.CancelFunc
	done   chan struct{}
}

// adapt stops what the definitions of this moment do not have, and starts what they
// have and does not run. A source that is the same value as before goes on.
func (s sources) adapt(ctx context.Context, ledger *sourceLedger, running map[controller.SourceInfo]*supervised) {
	wanted := maps.Collect(s.catalog.outside())
	gone := maps.Clone(running)
	maps.DeleteFunc(gone, func(info controller.SourceInfo, r *supervised) bool { return sameSource(wanted[info], r.source) })
	end(gone)
	for info := range gone {
		delete(running, info)
	}
	for info, source := range wanted {
		if running[info] == nil {
			running[info] = s.start(ctx, source, ledger.meter(info))
		}
	}
}

func (s sources) start(ctx context.Context, source controller.Source, m *meter) *supervised {
	ctx, stop := context.WithCancel(ctx)
	r := &supervised{source, stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		s.supervise(ctx, source, m)
	}()
	return r
}

// end stops sources and waits for their end.
func end(running map[controller.SourceInfo]*supervised) {
	for _, r := range running {
		r.stop()
	}
	for _, r := range running {
		<-r.done
	}
}

// sameSource reports whether two sources are one value. Of values that Go cannot
// compare nobody knows.
func sameSource(a, b controller.Source) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && a == b
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
