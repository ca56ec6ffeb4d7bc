package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(3, map[string]int{"a": 1, "b": 3})
	steps := []struct {
		name string
		do   func()
		open []string
		busy int
	}{
		{"at first", func() {}, []string{"a", "b"}, 0},
		{"a is at its limit", func() { s.take("a") }, []string{"b"}, 1},
		{"every worker is busy", func() { s.take("b"); s.take("b") }, nil, 3},
		{"an abandoned reconciler keeps its place, not its worker", func() { s.abandon("a") }, []string{"b"}, 2},
		{"a pass that ended keeps nothing", func() { s.release("b") }, []string{"b"}, 1},
		{"the abandoned one returned", func() { s.returned("a") }, []string{"a", "b"}, 1},
	}
	for _, step := range steps {
		_, changed := s.open()
		step.do()
		open, _ := s.open()
		if diff := cmp.Diff(step.open, open); diff != "" {
			t.Errorf("%s: open (-want +got):\n%s", step.name, diff)
		}
		if got, _ := s.stats(); got.Running != step.busy {
			t.Errorf("%s: %d running, want %d", step.name, got.Running, step.busy)
		}
		if step.name != "at first" && changed.Err() == nil {
			t.Errorf("%s: nobody was told", step.name)
		}
	}
	if got, _ := s.stats(); len(got.Abandoned) != 0 {
		t.Errorf("abandoned = %v at the end", got.Abandoned)
	}
}
