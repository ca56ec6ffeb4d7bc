package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/workflow"
)

// trail is the way of a run through its graph. A nil trail has touched nothing.
type trail struct {
	// visits and last are by node, taken is by edge.
	visits []int
	last   []workflow.Outcome
	taken  []int
	// active is the node at work, -1 if none is.
	active int
}

// visit is what a trail needs of one step.
type visit struct {
	node           string
	outcome        workflow.Outcome
	output, result json.RawMessage
}

// newTrail follows the steps of a run; current names the node at work, empty if
// none is. Steps of nodes that the graph does not have are passed over.
func newTrail(w *wiring, steps []visit, current string) *trail {
	t := &trail{
		visits: make([]int, len(w.Nodes)), last: make([]workflow.Outcome, len(w.Nodes)),
		taken: make([]int, len(w.Edges)), active: -1,
	}
	for i, s := range steps {
		n, ok := w.index[s.node]
		if !ok {
			continue
		}
		t.visits[n]++
		t.last[n] = s.outcome
		next := current
		if i+1 < len(steps) {
			next = steps[i+1].node
		}
		if e := w.edgeTaken(n, next, s); e >= 0 {
			t.taken[e]++
		}
	}
	if n, ok := w.index[current]; ok {
		t.active = n
	}
	return t
}

// edgeTaken finds the edge between two steps, -1 if there is none. Where
// several cases lead to one node the value of the switch tells which.
func (w *wiring) edgeTaken(from int, next string, s visit) int {
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
func chose(e Edge, s visit) bool {
	value := s.output
	path := strings.Split(e.On, ".")
	if path[0] == "$result" {
		value = s.result
	}
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
	if t.visits[n] > 0 && t.last[n] != workflow.OK {
		note += " " + words(string(t.last[n]))
	}
	return note
}

// Mark is the sign of an outcome: a tick or a cross.
func Mark(o workflow.Outcome, p Palette) string {
	if o == workflow.OK {
		return p.Good("✓")
	}
	return p.Bad("✗")
}

// words writes a recorded name such as timed_out for people.
func words(name string) string { return strings.ReplaceAll(Plain(name), "_", " ") }
