package workflow

import (
	"fmt"
	"slices"
)

// Check reports everything that is wrong with the shape of the definition: what
// can be seen in one part by itself. Whether the parts fit together is checked
// by Compile, which checks the shape too. The error is an *InvalidError.
func (d *Definition) Check() error {
	var p problems
	if p.require(d != nil, "definition", "the definition"); d == nil {
		return p.err("")
	}
	d.shape(&p)
	return p.err(d.Name)
}

func (d *Definition) shape(p *problems) {
	d.head(p)
	d.nodeShapes(p)
	for i, e := range d.Edges {
		e.shape(p, edgePlace(i))
	}
	d.includeShapes(p)
	d.exitShapes(p)
}

// head checks all fields but the nodes and edges.
func (d *Definition) head(p *problems) {
	p.require(d.Name != "", "name", "a name")
	p.text("name", d.Name)
	if len(d.Name) > MaxNameBytes {
		p.addf("name", "is %d bytes long, over the limit of %d: shorten it", len(d.Name), MaxNameBytes)
	}
	if slices.Contains(commandWords, d.Name) {
		p.addf("name", "%q is a command word: choose another name", d.Name)
	}
	p.version("revision", d.Revision)
	if d.ContractID != "" {
		p.version("contractId", d.ContractID)
	}
	p.require(d.StartAt != "", "startAt", "the ID of the first node")
	if d.MaxSteps < 0 {
		p.addf("maxSteps", "%d is negative: give a positive number, or zero for the default of %d", d.MaxSteps, DefaultMaxSteps)
	}
}

func (d *Definition) nodeShapes(p *problems) {
	p.require(len(d.Nodes) > 0, "nodes", "at least one node")
	if len(d.Nodes) > MaxNodes {
		p.addf("nodes", "%d nodes are over the limit of %d: split the workflow", len(d.Nodes), MaxNodes)
	}
	first := make(map[string]int, len(d.Nodes))
	for i, n := range d.Nodes {
		place := fmt.Sprintf("nodes[%d]", i)
		if !isValue(n) {
			p.addf(place, "%T is no node: use an Agent, Compute, Action, Shell, Notify or Checkpoint, by value", n)
			continue
		}
		if p.nodeID(place, n.NodeID(), i, first) {
			place = nodePlace(n.NodeID())
		}
		n.Deadline().check(p, place)
		p.text(place+".statusDetail", n.Detail())
		n.shape(p, place)
	}
}

// nodeID checks the ID of the i-th node and reports whether it names the node
// well enough to stand for its place. First holds the IDs so far.
func (p *problems) nodeID(place, id string, i int, first map[string]int) bool {
	if !p.id(place+".id", id) {
		return false
	}
	if earlier, twice := first[id]; twice {
		p.addf(place+".id", "nodes[%d] has the ID %q already: choose another", earlier, id)
		return false
	}
	first[id] = i
	return true
}

// isValue reports whether n is one of the node types themselves. A pointer to
// one, or a type that embeds one, has the methods too, but whoever runs the
// graph would not know it; and a nil pointer panics when asked for its ID.
func isValue(n Node) bool {
	switch n.(type) {
	case Agent, Compute, Action, Shell, Notify, Checkpoint:
		return true
	default:
		return false
	}
}

func (e Edge) shape(p *problems, place string) {
	p.require(e.From != "", place+".from", "the ID of a node")
	switch {
	case e.To == "" && e.Switch == nil:
		p.addf(place, "leads nowhere: give it a target or a switch")
	case e.To != "" && e.Switch != nil:
		p.addf(place, "has a target and a switch: keep one of them")
	}
	if e.Switch != nil {
		e.Switch.shape(p, place+".switch")
	}
}

func (s *Switch) shape(p *problems, place string) {
	if from, _ := splitPath(s.On); from == noOrigin {
		p.addf(place+".on", "%q must begin with $., $output. or $result.", s.On)
	}
	p.text(place+".on", s.On)
	p.require(len(s.Cases) > 0, place+".cases", "at least one case")
	seen := make(map[string]bool, len(s.Cases))
	for _, c := range s.Cases {
		at := casePlace(place, c)
		if seen[c.Value] {
			p.addf(at, "is declared twice: keep one of the cases")
		}
		seen[c.Value] = true
		p.text(at, c.Value)
		p.require(c.To != "", at, "the ID of the next node")
	}
}

func nodePlace(id string) string { return "nodes." + id }

func edgePlace(i int) string { return fmt.Sprintf("edges[%d]", i) }

// casePlace names a case; a value that would blur the place is quoted.
func casePlace(place string, c Case) string {
	if !plainKey.MatchString(c.Value) {
		return fmt.Sprintf("%s.cases[%q]", place, shorten(c.Value))
	}
	return place + ".cases." + c.Value
}
