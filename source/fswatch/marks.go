package fswatch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"piworkflows/clock"
)

// maxMarks bounds the places that wait to be looked at; with more of them
// everything is.
const maxMarks = 4096

// marks are the places where something happened since the last look. They are
// what keeps events from piling up: a place is marked once.
type marks struct {
	clock clock.Clock
	// woken has a token once there is a mark.
	woken chan struct{}

	mu sync.Mutex
	// paths are true for those whose content was written: they have changed even if
	// they look as before.
	paths map[string]bool
	all   bool
	last  time.Time
}

// newMarks marks everything: nobody knows what happened before.
func newMarks(c clock.Clock) *marks {
	return &marks{clock: c, woken: make(chan struct{}, 1), paths: map[string]bool{}, all: true}
}

func (m *marks) mark(path string, written bool) {
	m.change(func() {
		m.paths[path] = m.paths[path] || written
		if len(m.paths) > maxMarks {
			m.all, m.paths = true, map[string]bool{}
		}
	})
}

func (m *marks) markAll() { m.change(func() { m.all = true }) }

func (m *marks) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	m.last = m.clock.Now()
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// quietFor is how long ago something was marked.
func (m *marks) quietFor() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock.Now().Sub(m.last)
}

// mark is one place.
type mark struct {
	path    string
	written bool
}

// take returns the marks, folders before what is in them, and removes them.
func (m *marks) take() (all bool, list []mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(m.paths)) {
		list = append(list, mark{path, m.paths[path]})
	}
	select {
	case <-m.woken:
	default:
	}
	all = m.all
	m.all, m.paths = false, map[string]bool{}
	return all, list
}
