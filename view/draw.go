package view

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// widestLabel bounds the column of case labels.
	widestLabel = 24
	// narrowest is the room that a node needs; one that would have less is drawn
	// further down, from the left margin.
	narrowest = 26
)

// Draw returns the graph as an outline of text, one node a line with its ways
// out below it.
func (g *Graph) Draw(s Style) string {
	d := newDrawing(g, nil, s)
	d.body()
	d.legend()
	return d.text.String()
}

// drawing writes an outline. Trail is nil if no run is shown.
type drawing struct {
	*outline
	Style
	trail *trail
	text  strings.Builder
	// later holds nodes for which there was no room beside their edge.
	later []int
}

func newDrawing(g *Graph, t *trail, s Style) *drawing {
	return &drawing{outline: newOutline(g), Style: s, trail: t}
}

func (d *drawing) body() {
	d.later = slices.Clone(d.roots)
	for first := true; len(d.later) > 0; first = false {
		if !first {
			d.line("")
		}
		next := d.later[0]
		d.later = d.later[1:]
		d.node(next, "", "")
	}
}

func (d *drawing) line(text string) {
	d.text.WriteString(strings.TrimRight(d.fit(text, d.width()), " "))
	d.text.WriteByte('\n')
}

// node draws a node behind first and what follows it behind rest.
func (d *drawing) node(n int, first, rest string) {
	d.line(first + d.label(n, d.width()-Width(first)))
	edges := d.out[n]
	switch {
	case len(edges) == 0:
	case d.Edges[edges[0]].Decides():
		d.branches(edges, rest)
	default:
		d.plain(edges[0], rest)
	}
	for _, m := range d.meets[n] {
		d.line(rest)
		d.node(m, rest, rest)
	}
}

func (d *drawing) plain(edge int, prefix string) {
	if !d.inline[edge] {
		d.line(prefix + d.reference(edge))
		return
	}
	d.line(prefix + d.stroke(edge, "│", "┃"))
	d.node(d.to(edge), prefix, prefix)
}

func (d *drawing) branches(edges []int, prefix string) {
	column := 0
	for _, e := range edges {
		column = max(column, Width(d.fit(Plain(d.Edges[e].Label), widestLabel)))
	}
	for i, e := range edges {
		d.branch(e, prefix, column, i == len(edges)-1)
	}
}

// branch draws one route: its label, and its target if this is its place.
func (d *drawing) branch(edge int, prefix string, column int, last bool) {
	fork, rail := d.stroke(edge, "├─ ", "┝━ "), d.stroke(-1, "│", "")
	if last {
		fork, rail = d.stroke(edge, "└─ ", "┕━ "), " "
	}
	label := Fit(Plain(d.Edges[edge].Label), column)
	fill := column - Width(label) + 1
	stem := func(end string) string {
		line := d.stroke(edge, strings.Repeat("─", fill)+end, strings.Repeat("━", fill)+heavy(end))
		return prefix + fork + d.named(edge, label) + " " + line + " "
	}
	indent := prefix + rail + strings.Repeat(" ", column+6)
	switch {
	case !d.inline[edge]:
		d.line(stem("─") + d.reference(edge))
	case Width(indent)+narrowest > d.width():
		d.later = append(d.later, d.to(edge))
		d.line(stem("─") + d.reference(edge))
	default:
		d.node(d.to(edge), stem("▶"), indent)
	}
}

func heavy(end string) string { return strings.ReplaceAll(end, "─", "━") }

// reference names the target of an edge that is drawn elsewhere.
func (d *drawing) reference(edge int) string {
	arrow := "→ "
	if d.returns(edge) {
		arrow = "↩ "
	}
	text := arrow + Plain(d.Edges[edge].To)
	if n := d.trail.times(edge); n > 0 {
		return d.Palette.Good(text) + d.Palette.Dim(fmt.Sprintf(" ×%d", n))
	}
	return d.quiet(text)
}

// label is a node in at most a number of cells; its name gives way first.
func (d *drawing) label(n, cells int) string {
	node := d.Nodes[n]
	tail := "  " + Plain(node.Kind)
	if len(d.out[n]) == 0 {
		tail += " ■"
	}
	glyph, note := "○", ""
	if len(d.out[n]) > 0 && d.Edges[d.out[n][0]].Decides() {
		glyph = "◇"
	}
	if d.trail != nil {
		glyph, note = d.trail.glyph(n, d.Palette), d.trail.note(n)
	}
	name := d.fit(Plain(node.ID), cells-2-Width(tail)-Width(note))
	if d.trail.visited(n) {
		name = d.Palette.Bold(name)
	} else {
		name = d.quiet(name)
	}
	return glyph + " " + name + d.Palette.Dim(tail) + note
}

// stroke draws a line of an edge, heavy if the run took it.
func (d *drawing) stroke(edge int, light, heavy string) string {
	if edge >= 0 && d.trail.times(edge) > 0 {
		return d.Palette.Good(heavy)
	}
	return d.Palette.Dim(light)
}

// named writes the label of a route.
func (d *drawing) named(edge int, label string) string {
	if d.trail.times(edge) > 0 {
		return d.Palette.Bold(label)
	}
	return d.quiet(label)
}

// quiet keeps back what the run did not touch.
func (d *drawing) quiet(text string) string {
	if d.trail == nil {
		return text
	}
	return d.Palette.Dim(text)
}

func (d *drawing) legend() {
	d.line("")
	if d.trail == nil {
		d.line(d.Palette.Dim("◇ chooses a route   ↩ goes back   → goes on at   ■ ends the run"))
		return
	}
	d.line(d.Palette.Dim("━ taken   ✓ ok   ✗ not ok   ● at work   ○ not reached   ↩ goes back   ■ ends"))
}
