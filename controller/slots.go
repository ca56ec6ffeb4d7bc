package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// slots counts who may work. A pass holds a worker and a place of its
// controller; a reconciler that goes on after its pass ended keeps the place,
// so that code that ignores its cancellation cannot pile up.
type slots struct {
	mu      sync.Mutex
	workers int
	busy    int
	limits  map[string]int
	// placed counts passes and abandoned reconcilers by controller.
	placed    map[string]int
	abandoned map[string]int
	// opened ends, and is replaced, at every change.
	opened context.Context //nolint:containedctx // a signal in the form that WaitDue takes, no scope
	signal context.CancelFunc
}

func newSlots(workers int, limits map[string]int) *slots {
	s := &slots{workers: workers, limits: limits, placed: map[string]int{}, abandoned: map[string]int{}}
	s.opened, s.signal = context.WithCancel(context.Background())
	return s
}

// open returns the controllers that have room, sorted, and a context that ends
// when that changes.
func (s *slots) open() ([]string, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy >= s.workers {
		return nil, s.opened
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.limits)) {
		if s.placed[name] < s.limits[name] {
			names = append(names, name)
		}
	}
	return names, s.opened
}

// take gives a worker and a place to a pass.
func (s *slots) take(name string) {
	s.change(func() { s.busy++; s.placed[name]++ })
}

// release ends a pass whose reconciler has returned.
func (s *slots) release(name string) {
	s.change(func() { s.busy--; s.placed[name]-- })
}

// abandon ends a pass whose reconciler goes on.
func (s *slots) abandon(name string) {
	s.change(func() { s.busy--; s.abandoned[name]++ })
}

// returned gives back the place of an abandoned reconciler.
func (s *slots) returned(name string) {
	s.change(func() {
		s.placed[name]--
		if s.abandoned[name]--; s.abandoned[name] == 0 {
			delete(s.abandoned, name)
		}
	})
}

func (s *slots) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.signal()
	s.opened, s.signal = context.WithCancel(context.Background())
}

// stats returns a copy of the counts, and a context that ends when they change.
func (s *slots) stats() (Stats, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Running: s.busy, Abandoned: maps.Clone(s.abandoned)}, s.opened
}
