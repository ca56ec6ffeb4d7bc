package live

import (
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piworkflows/view"
)

// model is all that the screen shows. Its methods return a changed copy and do
// nothing else, so that a test drives it with keys.
type model struct {
	style  view.Style
	height int
	now    time.Time

	replay *view.Replay
	moment *view.Moment
	// step is the one that is shown; zero is the present, which moves.
	step int
	// node is where the cursor is, top the first line of the graph that is
	// shown. The cursor goes with the run unless it is pinned.
	node   string
	pinned bool
	top    int
	folds  view.Folds
	lines  []view.Line
	// page covers the graph, if there is one.
	page *page
	// problem is why the run is not followed any more.
	problem string
}

func newModel(o Options) (model, error) {
	r, err := view.NewReplay(o.Bundle)
	if err != nil {
		return model{}, err
	}
	r = r.Standing(o.Standing)
	if _, err := r.At(o.Step); err != nil {
		return model{}, err
	}
	m := model{style: view.Style{Palette: o.Palette}, now: o.Clock.Now(), replay: r, folds: o.Folds}
	return m.at(o.Step), nil
}

// Init does nothing: the size of the terminal comes by itself.
func (m model) Init() tea.Cmd { return nil }

// Update takes in a key, a size, and what was recorded.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.style.Width, m.height = max(msg.Width, 1), max(msg.Height, 1)
		return m.reopen().arrange(), nil
	case tea.KeyPressMsg:
		return m.press(msg.String())
	case grown:
		m.replay, m.now = m.replay.With(msg.bundle), msg.now
		return m.at(m.step), nil
	case stands:
		m.replay = m.replay.Standing(msg.as)
		return m.at(m.step), nil
	case tick:
		m.now = msg.now
		return m.reopenWorking(), nil
	case trouble:
		m.problem = view.Plain(msg.err.Error())
	}
	return m, nil
}

// at shows the run as it was after a step.
func (m model) at(step int) model {
	moment, err := m.replay.At(min(max(step, 0), m.replay.Steps()))
	if err != nil {
		m.problem = view.Plain(err.Error())
		return m
	}
	m.step, m.moment = step, moment
	if !m.pinned {
		m.node = moment.Node()
	}
	return m.reopen().arrange()
}

// jump goes to a step, and the cursor with it.
func (m model) jump(step int) model {
	m.pinned = false
	return m.at(step)
}

// arrange draws the graph anew and brings the cursor into sight.
func (m model) arrange() model {
	if m.height == 0 {
		return m
	}
	l := m.layout()
	style := m.style
	style.Width = l.graphWidth - gutter
	m.lines = m.moment.Graph(view.DrawOptions{Style: style, Folds: m.folds})
	at := m.cursor()
	if at >= 0 {
		m.node = m.lines[at].Node
	}
	m.top = scrolled(m.top, at, l.graph, len(m.lines))
	return m
}

// cursor is the line of the cursor's node, or of the group that hides it; -1 if
// the drawing has neither.
func (m model) cursor() int {
	at := slices.IndexFunc(m.lines, func(l view.Line) bool { return l.Node != "" && l.Node == m.node })
	for _, path := range m.replay.Around(m.node) {
		if at >= 0 {
			return at
		}
		at = slices.IndexFunc(m.lines, func(l view.Line) bool { return l.Group == path })
	}
	if at < 0 {
		at = slices.IndexFunc(m.lines, func(l view.Line) bool { return l.Node != "" })
	}
	return at
}

// scrolled moves the first line that is shown as little as possible for another
// line to be in sight, with one on either side where there is room.
func scrolled(top, at, rows, lines int) int {
	margin := min(1, max(rows-1, 0)/2)
	if at >= 0 {
		top = min(top, at-margin)
		top = max(top, at+margin+1-rows)
	}
	return max(0, min(top, lines-rows))
}

// move puts the cursor on the next node in a direction, a number of nodes away.
func (m model) move(nodes int) model {
	at := m.cursor()
	for i := at; nodes != 0; {
		direction := 1
		if nodes < 0 {
			direction = -1
		}
		i += direction
		if i < 0 || i >= len(m.lines) {
			break
		}
		if m.lines[i].Node != "" {
			at, nodes = i, nodes-direction
		}
	}
	if at >= 0 {
		m.node, m.pinned = m.lines[at].Node, true
	}
	return m.arrange()
}

// toggle opens or folds the group at the cursor, or the one around it.
func (m model) toggle() model {
	at := m.cursor()
	if at < 0 {
		return m
	}
	path := m.lines[at].Group
	if path == "" {
		around := m.replay.Around(m.node)
		if len(around) == 0 {
			return m
		}
		path = around[0]
	}
	m.folds.Set = maps.Clone(m.folds.Set)
	if m.folds.Set == nil {
		m.folds.Set = map[string]bool{}
	}
	m.folds.Set[path] = !m.opened(path)
	m.pinned = true
	return m.arrange()
}

// opened reports whether a group is drawn with what is in it: then another node
// of it has a line.
func (m model) opened(path string) bool {
	return slices.ContainsFunc(m.lines, func(l view.Line) bool {
		around := m.replay.Around(l.Node)
		if l.Group != "" {
			return len(around) > 1 && slices.Contains(around[1:], path)
		}
		return slices.Contains(around, path)
	})
}

// toggleAll opens all groups, or folds them to what is needed.
func (m model) toggleAll() model {
	m.folds = view.Folds{Full: !m.folds.Full}
	return m.arrange()
}

// selected is the step that the cursor stands for, counted from one; zero if its
// node has none.
func (m model) selected() int {
	if !m.pinned {
		if m.step > 0 {
			return m.step
		}
		return m.moment.Shown()
	}
	return m.moment.LastStep(m.node)
}

// working reports whether the cursor is on the node at work.
func (m model) working() bool {
	return m.moment.Node() == m.node && m.moment.AtWork()
}

// splitLines is a text as lines.
func splitLines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}
