package view

import (
	"fmt"
	"strings"

	"piworkflows/runbundle"
)

// trail is the way of a run as one scope shows it. A nil trail has touched
// nothing.
type trail struct {
	// visits and last are by node, taken is by edge. latest marks the edges
	// taken since the latest decision: the active branch.
	visits []int
	last   []runbundle.Outcome
	taken  []int
	latest []bool
	// active is the node at work and here the one of the chosen step; -1 if
	// there is none.
	active, here int
}

// trail returns what one scope shows of the way.
func (w *way) trail(scope int, since map[int]decision) *trail {
	s := w.scopes[scope]
	t := &trail{
		visits: make([]int, len(s.Nodes)), last: make([]runbundle.Outcome, len(s.Nodes)),
		taken: make([]int, len(s.Edges)), latest: make([]bool, len(s.Edges)),
		active: w.find(scope, w.active), here: w.find(scope, w.here),
	}
	for n, flat := range s.flat {
		t.visits[n], t.last[n] = w.visits[flat], w.last[flat]
		if box := s.box[n]; box > 0 {
			t.last[n] = w.left[box]
		}
	}
	if box := t.here; box >= 0 && s.box[box] > 0 && !(w.Nodes[w.here].Role == Exit && w.within[w.here] == s.box[box]) {
		t.active = box // the step did not leave it
	}
	first := len(w.steps)
	if d, ok := since[scope]; ok {
		first = d.index
	}
	recent := map[int]bool{}
	for i := first; i < len(w.steps); i++ {
		recent[w.edges[i]] = true
	}
	for e, via := range s.via {
		if via < 0 {
			t.taken[e], t.latest[e] = t.visits[s.to(e)], t.visits[s.to(e)] > 0 && first < len(w.steps)
			continue
		}
		t.taken[e], t.latest[e] = w.taken[via], recent[via]
	}
	return t
}

func (t *trail) times(edge int) int {
	if t == nil || edge < 0 {
		return 0
	}
	return t.taken[edge]
}

func (t *trail) visited(n int) bool {
	return t == nil || t.visits[n] > 0 || t.active == n
}

func (t *trail) glyph(n int, p Palette) string {
	switch {
	case t.active == n:
		return p.Warm("●")
	case t.visits[n] == 0:
		return p.Dim("○")
	default:
		return Mark(t.last[n], p)
	}
}

// pointer marks the node of the chosen step.
func (t *trail) pointer(n int) string {
	if t == nil || t.here != n {
		return ""
	}
	return " ◀"
}

// note says how often a node ran, and how it ended if that was not ok.
func (t *trail) note(n int) string {
	if t == nil {
		return ""
	}
	note := ""
	if t.visits[n] > 1 {
		note = fmt.Sprintf(" ×%d", t.visits[n])
	}
	if t.visits[n] > 0 && t.active != n && t.last[n] != runbundle.OutcomeOK {
		note += " " + words(string(t.last[n]))
	}
	return note
}

// Mark is the sign of an outcome: a tick or a cross.
func Mark(o runbundle.Outcome, p Palette) string {
	if o == runbundle.OutcomeOK {
		return p.Good("✓")
	}
	return p.Bad("✗")
}

// words writes a recorded name such as timed_out for people.
func words(name string) string { return strings.ReplaceAll(Plain(name), "_", " ") }
