package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// Loop is a control loop as it is authored: a decision, its routes, and the
// place where every branch hands control back.
//
// Spec: control loops, Authoring API.
type Loop struct {
	// Decide is the ID of the node whose output names the route, in a field
	// "route" (see DecisionOutput). Required.
	Decide string
	// ReturnTo is the ID of the node that observes again after a branch. It may
	// be Decide, if that node observes by itself. Required.
	ReturnTo string
	// Routes are what Decide may choose, in the order of drawings. At least one.
	Routes []Route
}

// Route is one choice of a control loop.
type Route struct {
	// Name is the value that chooses the route; it is written like a node ID and
	// is not "cancelled", since a cancelled run is never routed.
	Name string
	// To is the first node of the branch, or the mount of an included workflow.
	To string
	// Returns are the nodes with which the branch ends, or exits of a mount,
	// written mount.exit; routes may share them, and a name may come twice.
	// Only ok attempts return: a node that may fail needs a `$result.outcome`
	// switch of its own that leads to a collecting node, which is listed here.
	Returns []string
	// Terminal marks a branch that ends the loop and so has no Returns, not even
	// an empty list.
	Terminal bool
}

// ExpandedLoop is a control loop as the ordinary edges that it stands for. It
// leaves no other mark in a graph.
type ExpandedLoop struct {
	decide   string
	choices  []string
	terminal map[string]bool // an entry for each route
	edges    []Edge
}

// ControlLoop checks a loop and expands it. Everything that is wrong is
// reported at once, in one *InvalidError; whether its names are nodes is
// checked when the definition is compiled.
func ControlLoop(l Loop) (*ExpandedLoop, error) {
	p := loopCheck{loop: l}
	p.check()
	if err := p.err(""); err != nil {
		return nil, err
	}
	return l.expand(), nil
}

// MustControlLoop is ControlLoop for package-level values: it panics if the loop
// is invalid, which any test of the package shows.
func MustControlLoop(l Loop) *ExpandedLoop {
	expanded, err := ControlLoop(l)
	if err != nil {
		panic(err)
	}
	return expanded
}

// Choices returns the names of the routes in their order.
func (l *ExpandedLoop) Choices() []string { return slices.Clone(l.choices) }

// Edges returns the switch of the decision, then one edge for each return.
func (l *ExpandedLoop) Edges() []Edge { return cloneEdges(l.edges) }

// route reports whether a route ends the loop, and whether there is such a route.
func (l *ExpandedLoop) route(name string) (terminal, known bool) {
	if l == nil {
		return false, false
	}
	terminal, known = l.terminal[name]
	return terminal, known
}

func (l Loop) expand() *ExpandedLoop {
	x := &ExpandedLoop{decide: l.Decide, terminal: make(map[string]bool, len(l.Routes))}
	decide := &Switch{On: routePath}
	x.edges = append(x.edges, Edge{From: l.Decide, Switch: decide})
	returned := make(map[string]bool)
	for _, r := range l.Routes {
		x.choices = append(x.choices, r.Name)
		x.terminal[r.Name] = r.Terminal
		decide.Cases = append(decide.Cases, Case{Value: r.Name, To: r.To})
		for _, from := range r.Returns {
			if !returned[from] {
				returned[from] = true
				x.edges = append(x.edges, Edge{From: from, To: l.ReturnTo})
			}
		}
	}
	return x
}

// loopCheck collects what is wrong with a loop.
type loopCheck struct {
	problems
	loop Loop
}

func (p *loopCheck) check() {
	p.id("controlLoop.decide", p.loop.Decide)
	p.id("controlLoop.returnTo", p.loop.ReturnTo)
	p.require(len(p.loop.Routes) > 0, "controlLoop.routes", "at least one route")
	seen := make(map[string]bool, len(p.loop.Routes))
	for i, r := range p.loop.Routes {
		place := fmt.Sprintf("controlLoop.routes[%d]", i)
		if p.name(place+".name", r.Name, seen) {
			place = "controlLoop.routes." + r.Name
		}
		p.target(place+".to", r)
		p.returns(place+".returns", r)
	}
}

// name checks the name of a route and reports whether it can stand for it.
func (p *loopCheck) name(place, name string, seen map[string]bool) bool {
	if !p.id(place, name) {
		return false
	}
	if seen[name] {
		p.addf(place, "%q is declared twice: keep one of the routes", name)
		return false
	}
	seen[name] = true
	if name == string(Cancelled) {
		p.addf(place, "%q is no route: cancellation ends the run at once, remove it", name)
	}
	return true
}

func (p *loopCheck) target(place string, r Route) {
	if p.id(place, r.To) && r.Terminal && (r.To == p.loop.Decide || r.To == p.loop.ReturnTo) {
		p.addf(place, "%q leads back into the loop, which a terminal route ends: name another node", r.To)
	}
}

func (p *loopCheck) returns(place string, r Route) {
	switch {
	case r.Terminal && r.Returns != nil:
		p.addf(place, "the route is terminal, which ends the loop: drop the list of returns or the mark")
	case !r.Terminal && len(r.Returns) == 0:
		p.addf(place, "the branch never hands control back: name the nodes it ends with, or mark the route terminal")
	}
	for i, from := range r.Returns {
		at := fmt.Sprintf("%s[%d]", place, i)
		p.endpoint(at, from)
		p.source(at, from)
	}
}

// source reports a return that contradicts the rest of the loop. An exit stands
// for its mount.
func (p *loopCheck) source(place, from string) {
	node, _, _ := strings.Cut(from, ".")
	if node == p.loop.Decide {
		p.addf(place, "%q decides and so cannot be the end of a branch: name the node that ends it", from)
	}
	if i := slices.IndexFunc(p.loop.Routes, func(r Route) bool { return r.Terminal && node != "" && r.To == node }); i >= 0 {
		p.addf(place, "%q is where terminal route %q leads, and would not end the loop: use two nodes", from, p.loop.Routes[i].Name)
	}
}
