package view

import "slices"

// composed is a graph taken apart: the root workflow, and each included one on
// its own. What lies inside a group is of no concern to the workflow around it,
// which sees a box with exits.
type composed struct {
	*wiring
	// scopes has the root first and then the groups in their order.
	scopes []*scope
	// within is the scope that a node lies in.
	within []int
	// around is the scope that a scope lies in, noParent for the root; entry is
	// the node by which it is entered, and begin the one that it starts at.
	around, entry, begin []int
}

// scope is one workflow as its author sees it.
type scope struct {
	*outline
	path string
	// flat is the node in the whole graph that a node stands for: itself, or the
	// entry of a box. names are what the author calls them.
	flat  []int
	names []string
	// box is the scope that a box holds, 0 if the node is none.
	box []int
	// via is the edge in the whole graph that an edge stands for; -1 for an exit
	// that nothing follows.
	via []int
}

const root = 0

func compose(g *Graph) *composed {
	scopes := len(g.Groups) + 1
	c := &composed{
		wiring: newWiring(g), scopes: make([]*scope, scopes), within: make([]int, len(g.Nodes)),
		around: make([]int, scopes), entry: make([]int, scopes), begin: make([]int, scopes),
	}
	at := map[string]int{"": root}
	for i, group := range g.Groups {
		at[group.Path] = i + 1
	}
	c.around[root], c.entry[root], c.begin[root] = noParent, -1, c.index[g.StartAt]
	for i, group := range g.Groups {
		c.around[i+1] = at[group.parent()]
	}
	for n, node := range g.Nodes {
		s := at[node.Group]
		c.within[n] = s
		if node.Role == Entry {
			c.entry[s], c.begin[s] = n, c.to(c.out[n][0])
		}
	}
	for i := range c.scopes {
		c.scopes[i] = c.part(i)
	}
	return c
}

// part takes one workflow out of the whole.
func (c *composed) part(i int) *scope {
	s := &scope{}
	part := &Graph{Name: c.Name, StartAt: c.Nodes[c.begin[i]].ID}
	if i != root {
		s.path, part.Name = c.Groups[i-1].Path, c.Groups[i-1].Workflow
	}
	for n := range c.Nodes {
		c.addNode(part, s, i, n)
	}
	for e := range c.Edges {
		c.addEdge(part, s, e)
	}
	for _, n := range s.flat {
		if c.Nodes[n].Role == Exit && c.within[n] != i {
			part.Edges = append(part.Edges, c.leave(n, Edge{To: c.Nodes[n].ID}))
			s.via = append(s.via, -1)
		}
	}
	s.outline = newOutline(part)
	return s
}

// addNode adds a node if it is shown in a scope: one of its own, the entry of a
// group in it as a box, and the exits of that group that nothing follows.
func (c *composed) addNode(part *Graph, s *scope, i, n int) {
	node, within, box := c.Nodes[n], c.within[n], 0
	name := node.local()
	inner := within != root && c.around[within] == i
	switch {
	case node.Role == Entry && inner:
		group := c.Groups[within-1]
		name, box, node.Kind = group.name(), within, "workflow "+group.Workflow
	case node.Role == Exit && inner && len(c.out[n]) == 0:
		name, node.Kind = c.Groups[within-1].name()+"."+name, "exit"
	case node.Role == Entry || within != i:
		return
	case node.Role == Exit:
		node.Kind = "exit"
	}
	part.Nodes = append(part.Nodes, node)
	s.flat, s.names, s.box = append(s.flat, n), append(s.names, name), append(s.box, box)
}

// local is what the author of its workflow calls a node.
func (n Node) local() string {
	if n.Local == "" {
		return n.ID
	}
	return n.Local
}

// addEdge adds an edge if it is drawn in a scope.
func (c *composed) addEdge(part *Graph, s *scope, edge int) {
	e, n := c.Edges[edge], c.from(edge)
	from := c.Nodes[n]
	if from.Role == Entry || from.starts() != s.path {
		return
	}
	if from.Role == Exit {
		e = c.leave(n, e)
	}
	part.Edges, s.via = append(part.Edges, e), append(s.via, edge)
}

// exitPath marks the edges that leave a box: its exit chooses among them.
const exitPath = "$result.exit"

// leave makes an edge from an exit one from its box, named after the exit and
// after what the parent makes of it if it chooses.
func (c *composed) leave(exit int, e Edge) Edge {
	label := c.Nodes[exit].local()
	if e.Decides() {
		label += ": " + e.Label
	}
	return Edge{From: c.Nodes[c.entry[c.within[exit]]].ID, To: e.To, Label: label, On: exitPath}
}

// chain lists the scopes around a node, the root first; for -1 the root alone.
func (c *composed) chain(n int) []int {
	if n < 0 {
		return []int{root}
	}
	var chain []int
	for s := c.within[n]; s != noParent; s = c.around[s] {
		chain = append(chain, s)
	}
	slices.Reverse(chain)
	return chain
}

// find returns the node of a scope that stands for a node of the whole graph:
// itself, or the box that it lies in; -1 if there is none.
func (c *composed) find(scope, n int) int {
	if n < 0 {
		return -1
	}
	for s, inner := c.within[n], -1; s != noParent; s, inner = c.around[s], s {
		if s != scope {
			continue
		}
		if inner >= 0 {
			n = c.entry[inner]
		}
		return slices.Index(c.scopes[scope].flat, n)
	}
	return -1
}
