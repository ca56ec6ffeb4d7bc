package workflow

import (
	"iter"
	"slices"
)

// wiring checks whether the parts of a definition fit together.
type wiring struct {
	*problems
	def *Definition
	// nodes and mounts are the names that an edge may lead to; a mount without a
	// workflow was reported, and nothing more is said of it.
	nodes  map[string]bool
	mounts map[string]*Definition
	// included says that another workflow includes this one.
	included bool
}

func (d *Definition) wiring(p *problems, included bool) {
	w := wiring{
		problems: p, def: d, included: included,
		nodes: make(map[string]bool, len(d.Nodes)), mounts: make(map[string]*Definition, len(d.Includes)),
	}
	for _, n := range d.Nodes {
		if isValue(n) {
			w.nodes[n.NodeID()] = true
		}
	}
	for _, in := range d.Includes {
		w.mounts[in.Mount] = in.Workflow
	}
	w.start()
	from := w.edges()
	w.exits(from)
	w.reach()
}

func (w *wiring) start() {
	switch {
	case w.def.StartAt == "":
	case w.isMount(w.def.StartAt):
		w.addf("startAt", "%q is a mount: begin with a node that leads to it", w.def.StartAt)
	default:
		w.known("startAt", w.def.StartAt)
	}
}

func (w *wiring) isMount(name string) bool {
	_, exists := w.mounts[name]
	return exists
}

// known reports a name that no node has.
func (w *wiring) known(place, name string) bool {
	if !w.nodes[name] {
		w.addf(place, "there is no node %q: declare it or correct the name", name)
	}
	return w.nodes[name]
}

// source reports a name from which no edge can start.
func (w *wiring) source(place, name string) {
	mount, exit, isExit := cutExit(name)
	child := w.mounts[mount]
	switch {
	case !w.isMount(mount) && isExit:
		w.addf(place, "%q is an exit, and there is no mount %q: include it or correct the name", name, mount)
	case !w.isMount(mount):
		w.known(place, name)
	case child == nil:
	case !isExit:
		w.addf(place, "%q is a mount: an edge starts at one of its exits, written %s.exit", name, name)
	default:
		if _, exists := child.exit(exit); !exists {
			w.addf(place, "workflow %q has no exit %q: declare it there or correct the name", child.Name, exit)
		}
	}
}

// edges checks the edges and returns the index of the one from each name.
func (w *wiring) edges() map[string]int {
	first := make(map[string]int, len(w.def.Edges))
	for i, e := range w.def.Edges {
		place := edgePlace(i)
		if e.From != "" {
			w.source(place+".from", e.From)
			if earlier, twice := first[e.From]; twice {
				w.addf(place+".from", "%q has an outgoing edge already, edges[%d]: join the two in one switch", e.From, earlier)
			} else {
				first[e.From] = i
			}
		}
		for at, to := range e.targets(place) {
			if !w.isMount(to) {
				w.known(at, to)
			}
		}
	}
	return first
}

// exits checks the ends of the workflow. from has an entry for each name with an
// outgoing edge.
func (w *wiring) exits(from map[string]int) {
	leaves := make(map[string]string, len(w.def.Exits))
	for _, x := range w.def.Exits {
		place := exitPlace(x.Name) + ".from"
		if x.From == "" || !w.known(place, x.From) {
			continue
		}
		if i, leads := from[x.From]; leads {
			w.addf(place, "%q has an outgoing edge, edges[%d]: an exit follows a node without one", x.From, i)
		}
		if other, twice := leaves[x.From]; twice {
			w.addf(place, "exit %q follows %q already: use two nodes", other, x.From)
		}
		leaves[x.From] = x.Name
	}
	if w.included {
		w.ends(from, leaves)
	}
}

// ends reports where an included workflow would end without an exit: the run
// would end there, although its parent has more to do.
func (w *wiring) ends(from map[string]int, leaves map[string]string) {
	if len(w.def.Exits) == 0 {
		w.addf("exits", "a workflow that is included needs at least one exit")
	}
	for _, n := range w.def.Nodes {
		if !isValue(n) {
			continue
		}
		_, leads := from[n.NodeID()]
		if _, isExit := leaves[n.NodeID()]; !leads && !isExit {
			w.addf(nodePlace(n.NodeID()), "the included workflow would end here: lead on, or declare an exit from it")
		}
	}
	for _, in := range w.def.Includes {
		if in.Workflow == nil {
			continue
		}
		for _, x := range in.Workflow.Exits {
			if _, leads := from[in.Mount+"."+x.Name]; !leads {
				w.addf(includePlace(in.Mount), "exit %q leads nowhere, and the whole run would end there: add an edge from %s.%s",
					x.Name, in.Mount, x.Name)
			}
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

// reach reports nodes and mounts that no path leads to. Without a start, or with a
// mount of nothing, nobody knows.
func (w *wiring) reach() {
	if !w.nodes[w.def.StartAt] || slices.ContainsFunc(w.def.Includes, func(in Include) bool { return in.Workflow == nil }) {
		return
	}
	reached := w.reached()
	report := func(place, name string) {
		if !reached[name] {
			reached[name] = true // once, even if declared twice
			w.addf(place, "no path leads here from %q: connect it or remove it", w.def.StartAt)
		}
	}
	for _, n := range w.def.Nodes {
		if isValue(n) {
			report(nodePlace(n.NodeID()), n.NodeID())
		}
	}
	for _, in := range w.def.Includes {
		report(includePlace(in.Mount), in.Mount)
	}
}

func (w *wiring) reached() map[string]bool {
	next := make(map[string][]string, len(w.def.Edges))
	for _, e := range w.def.Edges {
		for _, to := range e.targets("") {
			next[e.From] = append(next[e.From], to)
		}
	}
	for mount, child := range w.mounts {
		for _, x := range child.Exits {
			next[mount] = append(next[mount], mount+"."+x.Name)
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
