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
	for i, n := range g.Nodes {
		opening, closing := o.mermaidShape(i)
		fmt.Fprintf(&b, "    n%d%s\"%s\"%s\n", i, opening, mermaidText(n.ID), closing)
	}
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

// mermaidShape makes the start and the ends round, and a node that chooses a
// diamond.
func (o *outline) mermaidShape(n int) (opening, closing string) {
	switch {
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
	for i, n := range g.Nodes {
		fmt.Fprintf(&b, "    %s%s;\n", dotText(n.ID), o.dotShape(i))
	}
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "    %s -> %s%s;\n", dotText(e.From), dotText(e.To), o.dotEdge(i))
	}
	b.WriteString("}\n")
	return b.String()
}

func (o *outline) dotShape(n int) string {
	switch {
	case len(o.out[n]) > 0 && o.Edges[o.out[n][0]].Decides():
		return ` [shape=diamond, style=""]`
	case len(o.out[n]) == 0:
		return " [peripheries=2]"
	default:
		return ""
	}
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
	if len(attributes) == 0 {
		return ""
	}
	return " [" + strings.Join(attributes, ", ") + "]"
}

func dotText(text string) string { return `"` + dotEscaper.Replace(Plain(text)) + `"` }

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
