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
	// narrowestOpen is the same for a group with what is in it.
	narrowestOpen = 36
	// frameCells is the width of a frame.
	frameCells = 2
)

// Line is one line of a drawing.
type Line struct {
	Text string
	// Node is the ID of the node whose line this is, empty if it is none's. For
	// a group that is its entry, and Group its path.
	Node, Group string
}

// DrawOptions say how a graph is drawn.
type DrawOptions struct {
	Style
	Folds
}

// Folds say which groups of a graph are open. An open one is followed by what is
// in it; a folded one is a box with its exits. The zero Folds open those in
// which the run is.
type Folds struct {
	// Full opens all groups.
	Full bool
	// Set opens or folds single groups by their paths, whatever else holds.
	Set map[string]bool
}

// open reports whether a group is, which is around the position or not.
func (f Folds) open(path string, around bool) bool {
	if set, ok := f.Set[path]; ok {
		return set
	}
	return f.Full || around
}

// Draw returns the graph as an outline of text, one node a line with its ways
// out below it.
func (g *Graph) Draw(o DrawOptions) string {
	s := &sheet{DrawOptions: o, whole: compose(g)}
	return joined(s.draw()) + "\n" + strings.Join(legend(o.Style, graphSigns, len(g.Groups) > 0), "\n") + "\n"
}

func joined(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// sheet takes up the lines of a drawing. Way is nil if no run is shown.
type sheet struct {
	DrawOptions
	whole *composed
	way   *way
	since map[int]decision
	lines []Line
}

// draw draws the root, and with it all that is open.
func (s *sheet) draw() []Line {
	s.drawing(root, "").body()
	return s.lines
}

func (s *sheet) line(text string, of Line) {
	of.Text = strings.TrimRight(s.fit(text, s.width()), " ")
	s.lines = append(s.lines, of)
}

// drawing draws one scope as an outline.
type drawing struct {
	*sheet
	*scope
	trail *trail
	// margin stands before every line of the scope.
	margin string
	// later holds nodes for which there was no room beside their edge.
	later []int
}

func (s *sheet) drawing(scope int, margin string) *drawing {
	d := &drawing{sheet: s, scope: s.whole.scopes[scope], margin: margin}
	if s.way != nil {
		d.trail = s.way.trail(scope, s.since)
	}
	return d
}

func (d *drawing) body() {
	d.later = slices.Clone(d.roots)
	for first := true; len(d.later) > 0; first = false {
		if !first {
			d.line(d.margin, Line{})
		}
		next := d.later[0]
		d.later = d.later[1:]
		d.node(next, d.margin, d.margin)
	}
}

// node draws a node behind first and what follows it behind rest.
func (d *drawing) node(n int, first, rest string) {
	of := Line{Node: d.Nodes[n].ID}
	if d.box[n] > 0 {
		of.Group = d.whole.scopes[d.box[n]].path
	}
	d.line(first+d.label(n, d.width()-Width(first)), of)
	if d.open(n) {
		d.drawing(d.box[n], rest+d.frame()).body()
	}
	edges := d.out[n]
	switch {
	case len(edges) == 0:
	case d.Edges[edges[0]].Decides():
		d.branches(edges, rest)
	default:
		d.plain(edges[0], rest)
	}
	for _, m := range d.meets[n] {
		if !d.fits(m, rest) {
			d.later = append(d.later, m)
			continue
		}
		d.line(rest, Line{})
		d.node(m, rest, rest)
	}
}

// frame stands before what is in a group.
func (d *drawing) frame() string { return d.Palette.Dim("┊") + " " }

// open reports whether a node is a group that is followed by its content.
func (d *drawing) open(n int) bool {
	return d.box[n] > 0 && d.opened(d.box[n]) && Width(d.margin)+narrowestOpen <= d.width()
}

// fits reports whether there is room for a node behind a prefix. The content of
// a group needs more, but at the margin of its scope there is never less.
func (d *drawing) fits(n int, prefix string) bool {
	return !d.open(n) || prefix == d.margin || Width(prefix)+d.room(d.box[n]) <= d.width()
}

// opened reports whether a group is to be drawn with what is in it.
func (s *sheet) opened(scope int) bool {
	around := s.way != nil && slices.Contains(s.whole.chain(s.way.focus()), scope)
	return s.Folds.open(s.whole.scopes[scope].path, around)
}

// room is how many cells an open group needs, for the groups in it too.
func (s *sheet) room(scope int) int {
	room := narrowestOpen
	for _, inner := range s.whole.scopes[scope].box {
		if inner > 0 && s.opened(inner) {
			room = max(room, s.room(inner)+frameCells)
		}
	}
	return room
}

func (d *drawing) plain(edge int, prefix string) {
	if !d.inline[edge] {
		d.line(prefix+d.reference(edge), Line{})
		return
	}
	if to := d.to(edge); !d.fits(to, prefix) {
		d.later = append(d.later, to)
		d.line(prefix+d.reference(edge), Line{})
		return
	}
	d.line(prefix+d.stroke(edge, "│┃║"), Line{})
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
	fork, rail := "├┝╞", d.stroke(-1, "│  ")
	if last {
		fork, rail = "└┕╘", " "
	}
	label := Fit(Plain(d.Edges[edge].Label), column)
	fill := column - Width(label) + 1
	stem := func(end string) string {
		line := d.strokes(edge, "─━═", fill) + end
		return prefix + d.stroke(edge, fork) + d.stroke(edge, "─━═") + " " + d.named(edge, label) + " " + line + " "
	}
	indent := prefix + rail + strings.Repeat(" ", column+6)
	switch {
	case !d.inline[edge]:
		d.line(stem(d.stroke(edge, "─━═"))+d.reference(edge), Line{})
	case Width(indent)+narrowest > d.width() || !d.fits(d.to(edge), indent):
		d.later = append(d.later, d.to(edge))
		d.line(stem(d.stroke(edge, "─━═"))+d.reference(edge), Line{})
	default:
		d.node(d.to(edge), stem(d.stroke(edge, "▶▶▶")), indent)
	}
}

// reference names the target of an edge that is drawn elsewhere.
func (d *drawing) reference(edge int) string {
	arrow := "→ "
	if d.returns(edge) {
		arrow = "↩ "
	}
	text := arrow + Plain(d.names[d.to(edge)])
	if n := d.trail.times(edge); n > 0 {
		return d.taken(edge, text) + d.Palette.Dim(fmt.Sprintf(" ×%d", n))
	}
	return d.quiet(text)
}

// label is a node in at most a number of cells; its name gives way.
func (d *drawing) label(n, cells int) string {
	node, edges := d.Nodes[n], d.out[n]
	tail := "  " + Plain(node.Kind)
	if len(edges) == 0 && (node.Role != Exit || node.Group != d.path) {
		tail += " ■"
	}
	sign, note := d.sign(n), d.trail.note(n)
	if !d.open(n) {
		note += d.trail.pointer(n)
	}
	name := Plain(d.names[n])
	if room := cells - Width(sign) - Width(name) - Width(note); d.box[n] > 0 && room < Width(tail) {
		tail = d.fit(tail, room) // of a group the name is worth more than what it is
	}
	name = d.fit(name, cells-Width(sign)-Width(tail)-Width(note))
	if d.trail.visited(n) {
		name = d.Palette.Bold(name)
	} else {
		name = d.quiet(name)
	}
	return sign + name + d.Palette.Dim(tail) + note
}

// sign tells what a node is, or what became of it.
func (d *drawing) sign(n int) string {
	box := ""
	switch {
	case d.box[n] == 0:
	case d.open(n):
		box = "⊟ "
	default:
		box = "⊞ "
	}
	edges := d.out[n]
	switch {
	case d.trail != nil:
		return d.trail.glyph(n, d.Palette) + " " + box
	case box != "":
		return box
	case len(edges) > 0 && d.Edges[edges[0]].Decides():
		return "◇ "
	default:
		return "○ "
	}
}

// stroke picks one of three signs for an edge: not taken, taken earlier,
// and since the latest decision.
func (d *drawing) stroke(edge int, signs string) string { return d.strokes(edge, signs, 1) }

func (d *drawing) strokes(edge int, signs string, n int) string {
	sign := []rune(signs)
	switch {
	case d.trail.times(edge) == 0:
		return d.Palette.Dim(strings.Repeat(string(sign[0]), n))
	case d.trail.latest[edge]:
		return d.taken(edge, strings.Repeat(string(sign[2]), n))
	default:
		return d.taken(edge, strings.Repeat(string(sign[1]), n))
	}
}

// taken colours an edge that the run took.
func (d *drawing) taken(edge int, text string) string {
	if d.trail.latest[edge] {
		return d.Palette.Now(text)
	}
	return d.Palette.Good(text)
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
