package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/runbundle"
)

// trail is the way of a run through its graph. A nil trail has touched nothing.
type trail struct {
	// visits and last are by node, taken is by edge.
	visits []int
	last   []runbundle.Outcome
	taken  []int
	// active is the node at work and here the one of the chosen step; -1 if
	// there is none.
	active, here int
}

// newTrail follows the finished steps of a run. Next names the node that the
// last of them led to, empty if none is known. Steps of nodes that the graph
// does not have are passed over.
func newTrail(w *wiring, steps []runbundle.Step, next string) *trail {
	t := &trail{
		visits: make([]int, len(w.Nodes)), last: make([]runbundle.Outcome, len(w.Nodes)),
		taken: make([]int, len(w.Edges)), active: -1, here: -1,
	}
	for i, s := range steps {
		n, ok := w.index[s.NodeID]
		if !ok {
			continue
		}
		t.visits[n]++
		t.last[n] = s.Outcome
		to := next
		if i+1 < len(steps) {
			to = steps[i+1].NodeID
		}
		if e := w.edgeTaken(n, to, s); e >= 0 {
			t.taken[e]++
		}
	}
	return t
}

// edgeTaken finds the edge between two steps, -1 if there is none. Where
// several cases lead to one node the value of the switch tells which.
func (w *wiring) edgeTaken(from int, next string, s runbundle.Step) int {
	found := -1
	for _, e := range w.out[from] {
		if w.Edges[e].To != next {
			continue
		}
		if found < 0 || chose(w.Edges[e], s) {
			found = e
		}
	}
	return found
}

// chose reports whether the value that the switch reads is this case.
func chose(e Edge, s runbundle.Step) bool {
	if e.On == "$result.outcome" {
		return string(s.Outcome) == e.Label
	}
	path := strings.Split(strings.TrimPrefix(e.On, "$result."), ".")
	value := s.Output
	for _, field := range path[1:] {
		var o map[string]json.RawMessage
		if json.Unmarshal(value, &o) != nil {
			return false
		}
		value = o[field]
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text == e.Label
	}
	return string(bytes.TrimSpace(value)) == e.Label
}

func (t *trail) times(edge int) int {
	if t == nil {
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

// note says how often a node ran, and how it ended if that was not ok.
func (t *trail) note(n int) string {
	note := ""
	if t.visits[n] > 1 {
		note = fmt.Sprintf(" ×%d", t.visits[n])
	}
	if t.visits[n] > 0 && t.last[n] != runbundle.OutcomeOK {
		note += " " + words(string(t.last[n]))
	}
	if t.here == n {
		note += " ◀"
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
