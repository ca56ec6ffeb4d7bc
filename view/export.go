package view

import (
	"fmt"
	"strings"
)

// Mermaid returns the graph as a Mermaid flowchart. Edges that go back are
// dotted.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	o := newOutline(g)
	compose(g).tour(exporter{
		node: func(n int, name, indent string) {
			opening, closing := o.mermaidShape(n)
			fmt.Fprintf(&b, "%sn%d%s\"%s\"%s\n", indent, n, opening, mermaidText(name), closing)
		},
		open: func(i int, title, indent string) {
			fmt.Fprintf(&b, "%ssubgraph g%d[\"%s\"]\n", indent, i, mermaidText(title))
		},
		close: func(indent string) { b.WriteString(indent + "end\n") },
	}, root, "    ")
	for i, e := range g.Edges {
		arrow := "-->"
		if o.returns(i) {
			arrow = "-.->"
		}
		if e.Decides() {
			arrow += `|"` + mermaidText(e.Label) + `"|`
		}
		fmt.Fprintf(&b, "    n%d %s n%d\n", o.from(i), arrow, o.to(i))
	}
	return b.String()
}

// exporter writes the nodes of a graph, those of a group between its open and
// its close.
type exporter struct {
	node  func(n int, name, indent string)
	open  func(group int, title, indent string)
	close func(indent string)
}

// tour shows an exporter a scope and all that it includes.
func (c *composed) tour(x exporter, scope int, indent string) {
	for n, node := range c.Nodes {
		if c.within[n] != scope {
			continue
		}
		name := node.local()
		if node.Role == Entry {
			name = "start"
		}
		x.node(n, name, indent)
	}
	for i, around := range c.around {
		if around == scope {
			group := c.Groups[i-1]
			x.open(i, group.name()+": "+group.Workflow, indent)
			c.tour(x, i, indent+"    ")
			x.close(indent)
		}
	}
}

// mermaidShape makes the start and the ends round, and a node that chooses a
// diamond.
func (o *outline) mermaidShape(n int) (opening, closing string) {
	switch {
	case o.Nodes[n].Role != Inner:
		return "([", "])"
	case len(o.out[n]) > 0 && o.Edges[o.out[n][0]].Decides():
		return "{", "}"
	case len(o.out[n]) == 0 || o.Nodes[n].ID == o.StartAt:
		return "([", "])"
	default:
		return "[", "]"
	}
}

// mermaidText escapes what Mermaid reads inside quotes: entity codes, and
// Markdown and HTML.
func mermaidText(text string) string {
	return mermaidEscaper.Replace(Plain(text))
}

var mermaidEscaper = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", `\`, "#92;",
)

// DOT returns the graph in the language of Graphviz. Edges that go back are
// dashed.
func (g *Graph) DOT() string {
	var b strings.Builder
	o := newOutline(g)
	fmt.Fprintf(&b, "digraph %s {\n    node [shape=box, style=rounded, fontname=\"Helvetica\"];\n", dotText(g.Name))
	compose(g).tour(exporter{
		node: func(n int, name, indent string) {
			fmt.Fprintf(&b, "%s%s%s;\n", indent, dotText(g.Nodes[n].ID), o.dotNode(n, name))
		},
		open: func(i int, title, indent string) {
			fmt.Fprintf(&b, "%ssubgraph cluster_%d {\n%s    label=%s;\n%s    style=rounded;\n", indent, i, indent, dotText(title), indent)
		},
		close: func(indent string) { b.WriteString(indent + "}\n") },
	}, root, "    ")
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "    %s -> %s%s;\n", dotText(e.From), dotText(e.To), o.dotEdge(i))
	}
	b.WriteString("}\n")
	return b.String()
}

func (o *outline) dotNode(n int, name string) string {
	var attributes []string
	if name != o.Nodes[n].ID {
		attributes = append(attributes, "label="+dotText(name))
	}
	switch {
	case o.Nodes[n].Role != Inner:
		attributes = append(attributes, "shape=ellipse")
	case len(o.out[n]) > 0 && o.Edges[o.out[n][0]].Decides():
		attributes = append(attributes, "shape=diamond", `style=""`)
	}
	if len(o.out[n]) == 0 {
		attributes = append(attributes, "peripheries=2")
	}
	return dotList(attributes)
}

func dotList(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " [" + strings.Join(attributes, ", ") + "]"
}

func (o *outline) dotEdge(edge int) string {
	var attributes []string
	if e := o.Edges[edge]; e.Decides() {
		attributes = append(attributes, "label="+dotText(e.Label))
	}
	if o.returns(edge) {
		// A dashed edge must not pull its target below its origin.
		attributes = append(attributes, "style=dashed", "constraint=false")
	}
	return dotList(attributes)
}

func dotText(text string) string { return `"` + dotEscaper.Replace(Plain(text)) + `"` }

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
