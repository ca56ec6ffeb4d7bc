package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piworkflows/view"
)

const (
	// gutter is the room for the cursor, before a line.
	gutter = 2
	// wide is from where on the steps stand beside the graph.
	wide = 120
	// roomForSteps is from which height on they are shown below it.
	roomForSteps = 14
)

// layout says how the rows and cells of the screen are shared.
type layout struct {
	// head, graph, steps and page are numbers of rows; page takes the place of
	// the graph and the steps.
	head, graph, steps, page int
	// graphWidth and sideWidth are numbers of cells; side is 0 if the steps are
	// below.
	graphWidth, sideWidth int
}

func (m model) layout() layout {
	const help, rule = 1, 1
	l := layout{graphWidth: m.style.Width}
	l.head = min(len(m.head()), max(1, m.height/4))
	body := max(m.height-l.head-help, 0)
	l.page, l.graph = max(body-rule, 0), max(body-rule, 0)
	switch {
	case m.style.Width >= wide:
		l.graphWidth = m.style.Width * 11 / 20
		l.sideWidth = m.style.Width - l.graphWidth - 1
		l.steps = l.graph / 3
	case m.height >= roomForSteps:
		l.steps = min(max(m.height/5, 2), 8)
		l.graph -= l.steps + rule
	}
	return l
}

// View writes the screen.
func (m model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	return v
}

// screen is at most as many lines as the terminal has, none too wide.
func (m model) screen() []string {
	if m.height == 0 {
		return nil
	}
	l := m.layout()
	rows := slices.Clone(m.head()[:l.head])
	switch {
	case m.page != nil:
		rows = append(rows, m.pageRows(l)...)
	case l.sideWidth > 0:
		rows = append(rows, m.besides(l)...)
	default:
		rows = append(rows, m.graphRows(l)...)
		if l.steps > 0 {
			rows = append(rows, m.stepRows(l.steps, m.style.Width)...)
		}
	}
	if last := max(m.height-1, 0); len(rows) > last {
		rows = rows[:last]
	}
	rows = append(rows, m.helpLine())
	for i, row := range rows {
		rows[i] = view.Fit(row, m.style.Width)
	}
	return rows
}

// head tells what became of the run; at the present also how it ended.
func (m model) head() []string {
	head := m.moment.Head(m.style, m.now)
	if m.step == 0 && m.replay.Ended() {
		if result := m.moment.Result(m.style); result != "" {
			head = append(head, splitLines(result)...)
		}
	}
	if m.problem != "" {
		head = slices.Insert(head, 1, m.style.Palette.Bad("not followed any more: ")+m.problem)
	}
	return head
}

// graphRows is the part of the graph in sight, below a rule.
func (m model) graphRows(l layout) []string {
	rows := []string{m.rule("graph", span(m.top, l.graph, len(m.lines)), l.graphWidth)}
	at := m.cursor()
	for i := m.top; i < m.top+l.graph; i++ {
		switch {
		case i >= len(m.lines):
			rows = append(rows, "")
		case i == at:
			rows = append(rows, m.pointer()+m.lines[i].Text)
		default:
			rows = append(rows, "  "+m.lines[i].Text)
		}
	}
	return rows
}

func (m model) pointer() string { return m.style.Palette.Now("❯") + " " }

// stepRows is the steps around the selected one, below a rule.
func (m model) stepRows(rows, width int) []string {
	style := m.style
	style.Width = max(width-gutter, 1)
	selected, shown := m.selected(), m.moment.Shown()
	first := max(0, min(selected-1-rows/2, shown-rows))
	if m.working() {
		selected = 0 // which has no line before it ends
	}
	last := min(first+rows, shown)
	if first > last {
		first = last
	}
	lines := []string{m.rule("steps", m.place(), width)}
	for i, text := range m.moment.StepLines(first, last, style) {
		if first+i+1 == selected {
			lines = append(lines, m.pointer()+text)
			continue
		}
		lines = append(lines, "  "+text)
	}
	for len(lines) <= rows {
		lines = append(lines, "")
	}
	return lines
}

// place tells which step is shown.
func (m model) place() string {
	steps := m.replay.Steps()
	switch {
	case m.step > 0:
		return fmt.Sprintf("%d of %d", m.step, steps)
	case m.replay.Ended():
		return fmt.Sprintf("%d, the end", steps)
	case m.problem != "":
		return strconv.Itoa(steps)
	default:
		return fmt.Sprintf("%d, following", steps)
	}
}

// besides shows the graph, and beside it the steps and the selected one.
func (m model) besides(l layout) []string {
	left := m.graphRows(l)
	right := m.stepRows(l.steps, l.sideWidth)
	style := m.style
	style.Width = l.sideWidth
	detail := m
	detail.style = style
	p := detail.stepPage(page{}, l.graph)
	right = append(append(right, m.rule(p.title, "", l.sideWidth)), p.lines...)
	rows := make([]string, len(left))
	for i, row := range left {
		rows[i] = padded(view.Fit(row, l.graphWidth), l.graphWidth) + m.style.Palette.Dim("│")
		if i < len(right) {
			rows[i] += view.Fit(right[i], l.sideWidth)
		}
	}
	return rows
}

func (m model) pageRows(l layout) []string {
	p := m.page
	rows := []string{m.rule(p.title, span(p.top, l.page, len(p.lines)), m.style.Width)}
	rows = append(rows, p.lines[p.top:min(p.top+l.page, len(p.lines))]...)
	for len(rows) <= l.page {
		rows = append(rows, "")
	}
	return rows
}

// rule is a line across with a title and a remark.
func (m model) rule(title, remark string, width int) string {
	text := "─ " + title + " "
	if remark != "" {
		remark = " " + remark + " ─"
	}
	fill := max(width-view.Width(text)-view.Width(remark), 0)
	return m.style.Palette.Dim(view.Fit(text+strings.Repeat("─", fill)+remark, width))
}

// span tells which lines of many are in sight; nothing if all are.
func span(top, rows, lines int) string {
	if lines <= rows {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", top+1, min(top+rows, lines), lines)
}

// helpLine has the keys that fit, those to get out always.
func (m model) helpLine() string {
	bindings, out := graphKeys(), "? keys  q leave"
	if m.page != nil {
		bindings = pageKeys()
	}
	line := ""
	for _, b := range bindings {
		if b.means == "" || b.groups && !m.replay.Grouped() {
			continue
		}
		item := b.sign + " " + b.means + "  "
		if view.Width(line+item+out) > m.style.Width {
			break
		}
		line += item
	}
	return m.style.Palette.Dim(line + out)
}

func padded(line string, cells int) string {
	return line + strings.Repeat(" ", max(cells-view.Width(line), 0))
}
