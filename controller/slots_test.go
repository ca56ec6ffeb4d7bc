package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(3, map[string]int{"a": 1, "b": 3})
	take := func(name string) func() {
		return func() {
			reserved, _ := s.reserve()
			s.take(reserved, name)
		}
	}
	steps := []struct {
		name  string
		do    func()
		open  []string
		busy  int
		freed bool
	}{
		{"at first", func() {}, []string{"a", "b"}, 0, false},
		{"a claim holds a place in each", func() { s.reserve() }, []string{"b"}, 1, false},
		{"and gives them back", func() { s.cancel([]string{"a", "b"}) }, []string{"a", "b"}, 0, true},
		{"a is at its limit, the place in b is given back", take("a"), []string{"b"}, 1, true},
		{"b has room", take("b"), []string{"b"}, 2, false},
		{"every worker is busy", take("b"), nil, 3, false},
		{"an abandoned reconciler keeps its place, not its worker", func() { s.abandon("a") }, []string{"b"}, 2, true},
		{"a pass that ended keeps nothing", func() { s.release("b") }, []string{"b"}, 1, true},
		{"the abandoned one returned", func() { s.returned("a") }, []string{"a", "b"}, 1, true},
		{"a worker goes on in another controller", func() { s.take(s.extend("b"), "a") }, []string{"b"}, 1, true},
		{"and in its own, though that is at its limit", func() { s.take(s.extend("a"), "a") }, []string{"b"}, 1, true},
		{"a claim ahead that found nothing ends the worker", func() { s.cancel(s.extend("a")) }, []string{"a", "b"}, 0, true},
	}
	for _, step := range steps {
		_, freed := s.stats()
		step.do()
		open, _ := s.awaited()
		if diff := cmp.Diff(step.open, open); diff != "" {
			t.Errorf("%s: open (-want +got):\n%s", step.name, diff)
		}
		if got, _ := s.stats(); got.Running != step.busy {
			t.Errorf("%s: %d running, want %d", step.name, got.Running, step.busy)
		}
		if got := freed.Err() != nil; got != step.freed {
			t.Errorf("%s: told of room: %v", step.name, got)
		}
	}
	if got, _ := s.stats(); len(got.Abandoned) != 0 {
		t.Errorf("abandoned = %v at the end", got.Abandoned)
	}
}
