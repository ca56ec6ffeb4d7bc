package view

// ungroup forgets the groups: the graph is drawn as one. A record whose groups
// contradict each other is still a record.
func (g *Graph) ungroup() {
	g.Groups = nil
	for i, n := range g.Nodes {
		g.Nodes[i] = Node{ID: n.ID, Kind: n.Kind}
	}
}

// grouped reports whether every group has a place and one entry, every node
// lies in a group that there is, and no edge crosses the border of a group but
// through its entry and its exits.
func (g *Graph) grouped() bool {
	groups := map[string]bool{"": true}
	for _, group := range g.Groups {
		if groups[group.Path] || group.name() == "" {
			return false
		}
		groups[group.Path] = true
	}
	entries := map[string]int{}
	for _, n := range g.Nodes {
		if !groups[n.Group] || n.Role != Inner && n.Group == "" {
			return false
		}
		if n.Role == Entry {
			entries[n.Group]++
		}
	}
	for _, group := range g.Groups {
		if !groups[group.parent()] || entries[group.Path] != 1 {
			return false
		}
	}
	return g.bordered()
}

// bordered reports whether every edge stays in the scope in which it begins.
func (g *Graph) bordered() bool {
	nodes := make(map[string]Node, len(g.Nodes))
	for _, n := range g.Nodes {
		nodes[n.ID] = n
	}
	if nodes[g.StartAt].ends() != "" {
		return false
	}
	begins := map[string]int{}
	for _, e := range g.Edges {
		from, to := nodes[e.From], nodes[e.To]
		if from.starts() != to.ends() {
			return false
		}
		if from.Role == Entry {
			begins[from.Group]++
		}
	}
	for _, group := range g.Groups {
		if begins[group.Path] != 1 {
			return false
		}
	}
	return true
}

// starts is the scope in which the edges from a node are drawn, ends that of the
// edges to it. A group is entered from its parent and left into it.
func (n Node) starts() string {
	if n.Role == Exit {
		return Group{Path: n.Group}.parent()
	}
	return n.Group
}

func (n Node) ends() string {
	if n.Role == Entry {
		return Group{Path: n.Group}.parent()
	}
	return n.Group
}
