package host

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

const (
	// sourceNews is how long a count may wait to be written. A change of state is
	// written at once.
	sourceNews = 5 * time.Second
	// sourceFarewell bounds the last writing of a host that stops.
	sourceFarewell = 5 * time.Second
)

var errFarewellSlow = errors.New("the store did not take what was told of the sources in time")

// sourceLedger writes what the meters tell into the store, for other processes
// to read. Nothing depends on it, so what cannot be written waits.
type sourceLedger struct {
	store   Store
	clock   clock.Clock
	records controller.Observer
	// counted and changed have room for one signal each.
	counted, changed chan struct{}
	failures         int

	mu sync.Mutex
	// meters are those of all sources that ever ran here, and fresh those that do not
	// go on yet from what was told before.
	meters, fresh map[controller.SourceInfo]*meter
}

func newLedger(s Store, c clock.Clock, records controller.Observer) *sourceLedger {
	return &sourceLedger{
		store: s, clock: c, records: records,
		counted: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		meters: map[controller.SourceInfo]*meter{}, fresh: map[controller.SourceInfo]*meter{},
	}
}

// meter returns the meter of a source.
func (l *sourceLedger) meter(info controller.SourceInfo) *meter {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.meters[info]
	if m == nil {
		m = newMeter(info, l)
		l.meters[info], l.fresh[info] = m, m
	}
	return m
}

// all are the meters of now, and those of them that are fresh.
func (l *sourceLedger) all() (meters, fresh map[controller.SourceInfo]*meter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.meters), maps.Clone(l.fresh)
}

// run writes until ctx ends, and then once more.
func (l *sourceLedger) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.changed:
			l.write(ctx)
		case <-l.counted:
			l.await(ctx)
			l.write(ctx)
		}
	}
	last, cancel := clock.WithTimeoutCause(context.WithoutCancel(ctx), l.clock, sourceFarewell, errFarewellSlow)
	defer cancel()
	l.write(last)
}

// await lets counts gather.
func (l *sourceLedger) await(ctx context.Context) {
	timer := l.clock.NewTimer(sourceNews)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-l.changed:
	case <-ctx.Done():
	}
}

// write writes what is news; what the store does not take stays news.
func (l *sourceLedger) write(ctx context.Context) {
	meters, fresh := l.all()
	err := l.recall(ctx, fresh)
	if err == nil {
		err = l.store.RecordSources(ctx, news(meters))
	}
	if err == nil {
		l.failures = 0
		return
	}
	for _, m := range meters {
		m.keep()
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errFarewellSlow) {
		return
	}
	l.failures++
	l.records.Observe(controller.StoreFailed{Doing: "record the sources", Err: err, Failures: l.failures, After: sourceNews})
	signal(l.counted)
}

// news takes the statuses that changed.
func news(meters map[controller.SourceInfo]*meter) []controller.SourceStatus {
	var list []controller.SourceStatus
	for _, m := range meters {
		if status, ok := m.take(); ok {
			list = append(list, status)
		}
	}
	return list
}

// recall has fresh meters go on from what the hosts before this one counted.
func (l *sourceLedger) recall(ctx context.Context, fresh map[controller.SourceInfo]*meter) error {
	if len(fresh) == 0 {
		return nil
	}
	told, err := l.store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, status := range told {
		if m := fresh[status.SourceInfo]; m != nil {
			m.goOn(status)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for info := range fresh {
		delete(l.fresh, info)
	}
	return nil
}

// signal leaves a signal unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
