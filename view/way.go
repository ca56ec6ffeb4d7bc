package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"piworkflows/runbundle"
)

// way is what a run did in the whole graph, up to one of its steps.
type way struct {
	*composed
	steps []runbundle.Step
	// edges has the edge that each step went on by, -1 if none is known.
	edges []int
	// visits and last are by node, taken is by edge. left is how the latest step
	// in a scope ended.
	visits, taken []int
	last, left    []runbundle.Outcome
	// active is the node at work and here that of the last step, if it is the
	// chosen one; -1 if there is none.
	active, here int
}

// newWay follows the finished steps of a run. Next names the node that the last
// of them led to, empty if none is known. Steps of nodes that the graph does not
// have are passed over.
func newWay(c *composed, steps []runbundle.Step, next string) *way {
	w := &way{
		composed: c, steps: steps, edges: make([]int, len(steps)),
		visits: make([]int, len(c.Nodes)), taken: make([]int, len(c.Edges)),
		last: make([]runbundle.Outcome, len(c.Nodes)), left: make([]runbundle.Outcome, len(c.scopes)),
		active: -1, here: -1,
	}
	for i, s := range steps {
		to := next
		if i+1 < len(steps) {
			to = steps[i+1].NodeID
		}
		w.edges[i] = w.step(s, to)
	}
	return w
}

// step counts one step and returns the edge that led on from it.
func (w *way) step(s runbundle.Step, next string) int {
	n, ok := w.index[s.NodeID]
	if !ok {
		return -1
	}
	w.visits[n]++
	w.last[n] = s.Outcome
	for scope := w.within[n]; scope != noParent; scope = w.around[scope] {
		w.left[scope] = s.Outcome
	}
	e := w.edgeTaken(n, next, s)
	if e >= 0 {
		w.taken[e]++
	}
	return e
}

// edgeTaken finds the edge between two steps, -1 if there is none. Where
// several cases lead to one node, or the next one is not known yet, the value
// of the switch tells which.
func (w *wiring) edgeTaken(from int, next string, s runbundle.Step) int {
	found := -1
	for _, e := range w.out[from] {
		edge := w.Edges[e]
		fits := edge.To == next
		if next == "" {
			fits = edge.Decides() && chose(edge, s)
		}
		if fits && (found < 0 || chose(edge, s)) { // most often there is one
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

// position is where the run is: the node at work, else that of the last step;
// -1 if the graph has neither.
func (w *way) position() int {
	if w.active >= 0 {
		return w.active
	}
	for _, s := range slices.Backward(w.steps) {
		if n, ok := w.index[s.NodeID]; ok {
			return n
		}
	}
	return -1
}

// focus is the position if something is going on there, or went wrong, or is the
// chosen step; -1 if nothing in the graph needs to be looked at.
func (w *way) focus() int {
	at := w.position()
	if w.active < 0 && w.here < 0 && at >= 0 && w.last[at] == runbundle.OutcomeOK {
		return -1
	}
	return at
}

// decision is a step by which a workflow chose one of its routes.
type decision struct {
	runbundle.Step
	route string
	index int
}

// decisions finds, for each scope around the position that chose a route since
// it was entered, the latest choice; the root first. A switch on an outcome is an
// operational branch and no decision.
func (w *way) decisions() map[int]decision {
	found := map[int]decision{}
	open := map[int]bool{}
	for _, s := range w.chain(w.position()) {
		open[s] = true
	}
	for i := len(w.steps) - 1; i >= 0 && len(open) > 0; i-- {
		n, ok := w.index[w.steps[i].NodeID]
		if !ok {
			continue
		}
		scope := w.within[n]
		if w.Nodes[n].Role == Entry {
			delete(open, scope) // its earlier decisions were another invocation's
		}
		e := w.edges[i]
		if open[scope] && w.Nodes[n].Role == Inner && e >= 0 && w.Edges[e].chosen() {
			found[scope] = decision{w.steps[i], w.Edges[e].Label, i}
			delete(open, scope)
		}
	}
	return found
}
