package workflow

import "iter"

// wiring checks whether the parts of a definition fit together.
type wiring struct {
	*problems
	def   *Definition
	nodes map[string]bool
}

func (d *Definition) wiring(p *problems) {
	w := wiring{problems: p, def: d, nodes: make(map[string]bool, len(d.Nodes))}
	for _, n := range d.Nodes {
		if isValue(n) {
			w.nodes[n.NodeID()] = true
		}
	}
	if d.StartAt != "" {
		w.known("startAt", d.StartAt)
	}
	w.edges()
	w.reach()
}

// known reports a name that no node has.
func (w *wiring) known(place, name string) {
	if !w.nodes[name] {
		w.addf(place, "there is no node %q: declare it or correct the name", name)
	}
}

func (w *wiring) edges() {
	first := make(map[string]int, len(w.def.Edges))
	for i, e := range w.def.Edges {
		place := edgePlace(i)
		if e.From != "" {
			w.known(place+".from", e.From)
			if earlier, twice := first[e.From]; twice {
				w.addf(place+".from", "%q has an outgoing edge already, edges[%d]: join the two in one switch", e.From, earlier)
			} else {
				first[e.From] = i
			}
		}
		for at, to := range e.targets(place) {
			w.known(at, to)
		}
	}
}

// targets yields the names that the edge leads to, each with its place; names
// that are absent are a matter of shape.
func (e Edge) targets(place string) iter.Seq2[string, string] {
	return func(yield func(at, to string) bool) {
		if e.To != "" && !yield(place+".to", e.To) || e.Switch == nil {
			return
		}
		for _, c := range e.Switch.Cases {
			if c.To != "" && !yield(casePlace(place+".switch", c), c.To) {
				return
			}
		}
	}
}

// reach reports nodes that no path leads to. Without a start there is no path,
// and the start was reported.
func (w *wiring) reach() {
	if !w.nodes[w.def.StartAt] {
		return
	}
	reached := w.reached()
	for _, n := range w.def.Nodes {
		if isValue(n) && !reached[n.NodeID()] {
			reached[n.NodeID()] = true // once, even if declared twice
			w.addf(nodePlace(n.NodeID()), "no path leads here from %q: connect it or remove it", w.def.StartAt)
		}
	}
}

func (w *wiring) reached() map[string]bool {
	next := make(map[string][]string, len(w.def.Edges))
	for _, e := range w.def.Edges {
		for _, to := range e.targets("") {
			next[e.From] = append(next[e.From], to)
		}
	}
	reached := map[string]bool{w.def.StartAt: true}
	for open := []string{w.def.StartAt}; len(open) > 0; {
		id := open[0]
		open = open[1:]
		for _, to := range next[id] {
			if !reached[to] {
				reached[to] = true
				open = append(open, to)
			}
		}
	}
	return reached
}
