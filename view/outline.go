package view

import "slices"

// outline is a graph as a tree of lines: each node is drawn once, under the
// node that every path to it passes last (its dominator). That puts a branch
// below its route and a node where branches meet behind all of them.
type outline struct {
	*wiring
	// order has the nodes as a walk from the start meets them, those that no
	// path reaches last. The walks begin at the roots: the start and, in a graph
	// that nobody validated, nodes without a path to them.
	order, roots []int
	// walked is the number of the walk that met a node.
	walked []int
	// parent is the dominator of a node, noParent for a root; depth counts the
	// nodes above it.
	parent, depth []int
	// inline says that the target of an edge is drawn right where the edge is.
	inline []bool
	// meets lists, for a node, the nodes that are drawn behind its branches.
	meets [][]int
}

func newOutline(g *Graph) *outline {
	o := &outline{
		wiring: newWiring(g), walked: make([]int, len(g.Nodes)),
		inline: make([]bool, len(g.Edges)), meets: make([][]int, len(g.Nodes)),
	}
	o.walk()
	o.dominate()
	for _, n := range o.order {
		o.place(n)
	}
	return o
}

// place decides where a node is drawn: at the one edge that leads to it from
// its dominator, or behind the dominator's branches.
func (o *outline) place(n int) {
	p := o.parent[n]
	if p < 0 {
		return
	}
	forward := slices.DeleteFunc(slices.Clone(o.in[n]), func(e int) bool { return o.returns(e) })
	if len(forward) == 1 && o.from(forward[0]) == p {
		o.inline[forward[0]] = true
		return
	}
	o.meets[p] = append(o.meets[p], n)
}

// returns reports whether an edge goes back to a node that every path to its
// origin has passed.
func (o *outline) returns(edge int) bool {
	to, n := o.to(edge), o.from(edge)
	for o.depth[n] > o.depth[to] {
		n = o.parent[n]
	}
	return n == to
}

// walk puts the nodes in reverse postorder of depth-first walks: each node
// before what follows it, as far as there are no cycles.
func (o *outline) walk() {
	seen := make([]bool, len(o.Nodes))
	from := func(root int) {
		first := len(o.order)
		o.roots = append(o.roots, root)
		o.order = append(o.order, postorder(o.wiring, root, seen)...)
		slices.Reverse(o.order[first:])
		for _, n := range o.order[first:] {
			o.walked[n] = len(o.roots)
		}
	}
	from(o.index[o.StartAt])
	for n := range o.Nodes {
		if !seen[n] {
			from(n)
		}
	}
}

// postorder walks without recursion, since a generated graph may be deep. It
// takes the edges of a node from last to first, so that the reverse of the
// result has them in order.
func postorder(w *wiring, root int, seen []bool) []int {
	type visit struct{ node, rest int }
	seen[root] = true
	stack := []visit{{root, len(w.out[root])}}
	var post []int
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if v.rest == 0 {
			post = append(post, v.node)
			stack = stack[:len(stack)-1]
			continue
		}
		v.rest--
		if next := w.to(w.out[v.node][v.rest]); !seen[next] {
			seen[next] = true
			stack = append(stack, visit{next, len(w.out[next])})
		}
	}
	return post
}

const (
	noParent  = -1
	undecided = -2
)

// dominate finds the immediate dominator of each node with the iteration of
// Cooper, Harvey and Kennedy.
func (o *outline) dominate() {
	d := dominance{outline: o, rank: make([]int, len(o.order))}
	o.parent = make([]int, len(o.order))
	for i, n := range o.order {
		d.rank[n], o.parent[n] = i, undecided
	}
	for _, n := range o.roots {
		o.parent[n] = noParent
	}
	for d.pass() {
	}
	o.depth = make([]int, len(o.order))
	for _, n := range o.order {
		if p := o.parent[n]; p >= 0 { // which the order has before it
			o.depth[n] = o.depth[p] + 1
		}
	}
}

// dominance compares nodes by their place in the order.
type dominance struct {
	*outline
	rank []int
}

// pass improves every node once and reports whether anything changed.
func (d dominance) pass() (changed bool) {
	for _, n := range d.order {
		if d.parent[n] == noParent {
			continue
		}
		if p := d.meeting(n); p != d.parent[n] {
			d.parent[n], changed = p, true
		}
	}
	return changed
}

// meeting returns the nearest node that dominates all known ways to a node. An
// edge from a later walk says nothing: no path takes it.
func (d dominance) meeting(n int) int {
	p := undecided
	for _, e := range d.in[n] {
		switch from := d.from(e); {
		case d.walked[from] != d.walked[n] || d.parent[from] == undecided:
		case p == undecided:
			p = from
		default:
			p = d.common(p, from)
		}
	}
	return p
}

// common returns the nearest dominator that two nodes of one walk share; the
// root of the walk if there is no nearer one.
func (d dominance) common(a, b int) int {
	for a != b {
		if d.rank[a] < d.rank[b] {
			b = d.parent[b]
		} else {
			a = d.parent[a]
		}
	}
	return a
}
