package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// MaxDepth bounds how deep workflows include each other.
const MaxDepth = 16

// compilation checks a definition and all that it includes.
type compilation struct {
	problems
	// left is how many nodes there may still be.
	left int
}

// check checks one definition; chain are those that include it, the root first.
func (c *compilation) check(d *Definition, chain []*Definition) {
	d.shape(&c.problems)
	d.wiring(&c.problems, len(chain) > 0)
	c.left -= len(d.Nodes)
	if len(chain) > 0 {
		c.left -= 1 + len(d.Exits) // the nodes that enter and leave
	}
	if c.left < 0 {
		c.addf("nodes", "with everything that is included there are more than %d: split the workflow", MaxNodes)
		return
	}
	chain = append(slices.Clone(chain), d)
	for _, in := range d.Includes {
		c.include(in, chain)
	}
}

// include checks what a definition includes. The places of its problems say
// where it is included.
func (c *compilation) include(in Include, chain []*Definition) {
	place := includePlace(in.Mount) + ".workflow"
	switch {
	case in.Workflow == nil || c.left < 0:
		return // the shape says so, or it was said
	case slices.Contains(chain, in.Workflow):
		c.addf(place, "includes itself (%s): break the circle", names(append(slices.Clone(chain), in.Workflow)))
		return
	case len(chain) == MaxDepth:
		c.addf(place, "is included more than %d workflows deep (%s): flatten them", MaxDepth, names(chain))
		return
	}
	child := compilation{left: c.left}
	child.check(in.Workflow, chain)
	c.left = child.left
	for _, p := range child.list {
		c.addf(place+"."+p.Place, "%s", p.Message)
	}
}

// names writes a chain of includes.
func names(chain []*Definition) string {
	list := make([]string, len(chain))
	for i, d := range chain {
		list[i] = fmt.Sprintf("%q", shorten(d.Name))
	}
	return strings.Join(list, " → ")
}
