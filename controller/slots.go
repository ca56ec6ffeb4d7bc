package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// slots counts who may work. A pass holds a worker and a place of its
// controller. A reconciler that goes on after its pass ended keeps the place, so
// that code that ignores its cancellation cannot pile up. A claim that is under
// way holds a worker and a place in every controller that it may be for.
type slots struct {
	mu      sync.Mutex
	workers int
	busy    int
	limits  map[string]int
	names   []string // of limits, sorted
	// placed counts claims, passes and abandoned reconcilers by controller.
	placed    map[string]int
	abandoned map[string]int
	// freed ends, and is replaced, when something became free.
	freed  context.Context //nolint:containedctx // a signal in the form that WaitDue takes, no scope
	signal context.CancelFunc
	// resized ends, and is replaced, when there are other controllers or limits.
	resized context.Context //nolint:containedctx // as freed
	told    context.CancelFunc
}

func newSlots(workers int, limits map[string]int) *slots {
	s := &slots{
		workers: workers, limits: limits, names: slices.Sorted(maps.Keys(limits)),
		placed: map[string]int{}, abandoned: map[string]int{},
	}
	s.freed, s.signal = context.WithCancel(context.Background())
	s.resized, s.told = context.WithCancel(context.Background())
	return s
}

// awaited returns the controllers that have room, sorted, and a context that ends
// when there may be more of them, or others.
func (s *slots) awaited() ([]string, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.room()
	if len(names) < len(s.names) {
		return names, s.freed
	}
	return names, s.resized
}

// resize replaces controllers and limits. Who works keeps its place.
func (s *slots) resize(limits map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits, s.names = limits, slices.Sorted(maps.Keys(limits))
	s.told()
	s.resized, s.told = context.WithCancel(context.Background())
	s.signal()
	s.freed, s.signal = context.WithCancel(context.Background())
}

func (s *slots) room() []string {
	if s.busy >= s.workers {
		return nil
	}
	var names []string
	for _, name := range s.names {
		if s.placed[name] < s.limits[name] {
			names = append(names, name)
		}
	}
	return names
}

// reserve is open, and makes room for a claim among these controllers.
func (s *slots) reserve() ([]string, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.room()
	if len(names) > 0 {
		s.busy++
	}
	for _, name := range names {
		s.placed[name]++
	}
	return names, s.freed
}

// extend is reserve for the worker of a pass that is about to end: the claim that
// follows may have its worker and its place.
func (s *slots) extend(own string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range s.names {
		if name == own || s.placed[name] < s.limits[name] {
			names = append(names, name)
			s.placed[name]++
		}
	}
	s.placed[own]--
	return names
}

// take ends a claim: its room goes to a pass of that controller.
func (s *slots) take(reserved []string, name string) {
	if len(reserved) > 1 {
		s.free(0, slices.DeleteFunc(slices.Clone(reserved), func(other string) bool { return other == name }))
	}
}

// cancel ends a claim that found nothing.
func (s *slots) cancel(reserved []string) { s.free(1, reserved) }

// release ends a pass whose reconciler has returned.
func (s *slots) release(name string) { s.free(1, []string{name}) }

// abandon ends a pass whose reconciler goes on.
func (s *slots) abandon(name string) {
	s.mu.Lock()
	s.abandoned[name]++
	s.mu.Unlock()
	s.free(1, nil)
}

// returned gives back the place of an abandoned reconciler.
func (s *slots) returned(name string) {
	s.mu.Lock()
	if s.abandoned[name]--; s.abandoned[name] == 0 {
		delete(s.abandoned, name)
	}
	s.mu.Unlock()
	s.free(0, []string{name})
}

func (s *slots) free(workers int, places []string) {
	if workers+len(places) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy -= workers
	for _, name := range places {
		s.placed[name]--
	}
	s.signal()
	s.freed, s.signal = context.WithCancel(context.Background())
}

// stats returns a copy of the counts, and a context that ends when there may be
// less of them.
func (s *slots) stats() (Stats, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Running: s.busy, Abandoned: maps.Clone(s.abandoned)}, s.freed
}
