package host

import (
	"context"
	"errors"
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
	meters  []*meter
	// counted and changed have room for one signal each.
	counted, changed chan struct{}
	// known says that the meters go on from what was told before.
	known    bool
	failures int
}

func newLedger(s Store, c clock.Clock, records controller.Observer) *sourceLedger {
	return &sourceLedger{
		store: s, clock: c, records: records,
		counted: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
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
	err := l.recall(ctx)
	if err == nil {
		err = l.store.RecordSources(ctx, l.news())
	}
	if err == nil {
		l.failures = 0
		return
	}
	for _, m := range l.meters {
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
func (l *sourceLedger) news() []controller.SourceStatus {
	var list []controller.SourceStatus
	for _, m := range l.meters {
		if status, ok := m.take(); ok {
			list = append(list, status)
		}
	}
	return list
}

// recall has the meters go on from what the hosts before this one counted.
func (l *sourceLedger) recall(ctx context.Context) error {
	if l.known {
		return nil
	}
	told, err := l.store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, status := range told {
		for _, m := range l.meters {
			if m.info == status.SourceInfo {
				m.goOn(status)
			}
		}
	}
	l.known = true
	return nil
}

// signal leaves a signal unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
