package workflow

import (
	"slices"
	"strings"
)

// scope is one mounted definition of a graph; the first one is the root.
type scope struct {
	def *Definition
	// path names the mounts on the way from the root.
	path []string
	// parent is the index of the scope that mounts this one, -1 for the root.
	parent int
	// mounts are the indexes of the scopes that this one mounts, by name.
	mounts map[string]int
}

// id returns the ID that a name of the scope has in the graph: that of a node, of
// the entry of a mount, or of an exit (mount.exit).
func (s scope) id(name string) string {
	if mount, exit, isExit := cutExit(name); isExit {
		return exitNode(s.id(mount), exit)
	}
	return strings.Join(append(slices.Clone(s.path), name), "/")
}

// mountID is the ID of the scope's own entry.
func (s scope) mountID() string { return strings.Join(s.path, "/") }

// name is what the parent calls the scope.
func (s scope) name() string { return s.path[len(s.path)-1] }

// site says where a node of a graph comes from.
type site struct {
	// scope is the one whose names its callbacks see, local its name there.
	scope int
	local string
	// enters is the scope that the node enters; zero, the root, is none.
	enters int
	// exit is the exit by which the node leaves its scope; empty is none.
	exit string
}

// crosses reports whether the node was made by composition.
func (s site) crosses() bool { return s.enters > 0 || s.exit != "" }

// flattening makes one graph of a definition and all that it includes.
type flattening struct {
	scopes []scope
	nodes  []Node
	edges  []Edge
	sites  map[string]site
}

func flatten(d *Definition) *flattening {
	f := &flattening{sites: map[string]site{}}
	f.mount(d, nil, -1)
	f.connect(0)
	return f
}

// mount adds the nodes of a definition: its own, then those of each include, led
// by the nodes of its entry and exits.
func (f *flattening) mount(d *Definition, path []string, parent int) {
	at := len(f.scopes)
	f.scopes = append(f.scopes, scope{def: d, path: path, parent: parent, mounts: map[string]int{}})
	s := f.scopes[at]
	for _, n := range d.Nodes {
		f.add(renamed(n, s.id(n.NodeID())), site{scope: at, local: n.NodeID()})
	}
	for _, in := range d.Includes {
		child := len(f.scopes)
		s.mounts[in.Mount] = child
		f.add(Compute{ID: s.id(in.Mount), StatusDetail: "entering " + in.Workflow.Name, Run: in.enter},
			site{scope: at, local: in.Mount, enters: child})
		for _, x := range in.Workflow.Exits {
			f.add(Compute{ID: exitNode(s.id(in.Mount), x.Name), Run: x.leave}, site{scope: child, local: x.Name, exit: x.Name})
		}
		f.mount(in.Workflow, append(slices.Clone(path), in.Mount), at)
	}
}

func (f *flattening) add(n Node, s site) {
	f.nodes = append(f.nodes, n)
	f.sites[n.NodeID()] = s
}

// connect adds the edges of a scope: those into and out of its mounts with all
// that is within, then its own.
func (f *flattening) connect(at int) {
	s := f.scopes[at]
	for _, in := range s.def.Includes {
		child := f.scopes[s.mounts[in.Mount]]
		f.edges = append(f.edges, Edge{From: s.id(in.Mount), To: child.id(child.def.StartAt)})
		for _, x := range child.def.Exits {
			f.edges = append(f.edges, Edge{From: child.id(x.From), To: exitNode(s.id(in.Mount), x.Name)})
		}
		f.connect(s.mounts[in.Mount])
	}
	for _, e := range s.def.Edges {
		f.edges = append(f.edges, e.within(s))
	}
}

// within is the edge with the names of the graph.
func (e Edge) within(s scope) Edge {
	e = e.clone()
	e.From = s.id(e.From)
	if e.To != "" {
		e.To = s.id(e.To)
	}
	if e.Switch != nil {
		for i, c := range e.Switch.Cases {
			e.Switch.Cases[i].To = s.id(c.To)
		}
	}
	return e
}

// renamed is the node under another ID.
func renamed(n Node, id string) Node {
	switch n := n.(type) {
	case Agent:
		n.ID = id
		return n
	case Compute:
		n.ID = id
		return n
	case Action:
		n.ID = id
		return n
	case Shell:
		n.ID = id
		return n
	case Notify:
		n.ID = id
		return n
	case Checkpoint:
		n.ID = id
		return n
	default:
		return n // not reached: isValue lets nothing else pass
	}
}

// MountedSource is the origin of a workflow that another one includes.
type MountedSource struct {
	// MountPath names the mounts on the way from the root.
	MountPath    []string `json:"mountPath"`
	WorkflowName string   `json:"workflowName"`
	Source       Source   `json:"source"`
}

// Sources returns the origins of the included workflows, in the order of their
// joined mount paths; none if nothing is included.
func (g *Graph) Sources() []MountedSource {
	var list []MountedSource
	for _, s := range g.mounted() {
		list = append(list, MountedSource{MountPath: slices.Clone(s.path), WorkflowName: s.def.Name, Source: s.def.source()})
	}
	return list
}

// mounted returns the scopes below the root in the order of their joined paths.
func (g *Graph) mounted() []scope {
	return slices.SortedFunc(slices.Values(g.scopes[1:]), func(a, b scope) int {
		return strings.Compare(a.mountID(), b.mountID())
	})
}

func (d *Definition) source() Source {
	return Source{Kind: "builtin", ID: d.Name, Revision: d.Revision}
}

// clone copies a definition with everything that it includes.
func (d *Definition) clone() *Definition {
	c := *d
	c.Nodes, c.Edges = slices.Clone(d.Nodes), cloneEdges(d.Edges)
	c.Includes, c.Exits = slices.Clone(d.Includes), slices.Clone(d.Exits)
	for i, in := range c.Includes {
		c.Includes[i].Workflow = in.Workflow.clone()
	}
	return &c
}

// exits are the IDs of the exit nodes of a mounted scope, in their order.
func (s scope) exits() object {
	list := make(object, 0, len(s.def.Exits))
	for _, x := range s.def.Exits {
		list = append(list, member{x.Name, exitNode(s.mountID(), x.Name)})
	}
	return list
}
