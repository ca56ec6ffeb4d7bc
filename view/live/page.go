package live

import (
	"strings"

	"piworkflows/view"
)

// page is a text that covers the graph: a step in full, or the help.
type page struct {
	title string
	help  bool
	// working says that the page shows the attempt at work.
	working bool
	lines   []string
	top     int
}

// open opens the step of the cursor, or its group.
func (m model) open() model {
	if at := m.cursor(); at >= 0 && m.lines[at].Group != "" && m.pinned {
		return m.toggle()
	}
	m.page = &page{}
	return m.reopen()
}

// reopen writes an open page anew, for another step or another width.
func (m model) reopen() model {
	if m.page == nil {
		return m
	}
	p := page{help: m.page.help, top: m.page.top}
	switch {
	case p.help:
		p.title, p.lines = "keys and signs", m.helpLines()
	default:
		p = m.stepPage(p, 0)
	}
	p.top = max(0, min(p.top, len(p.lines)-m.layout().page))
	m.page = &p
	return m
}

// stepPage shows the step of the cursor, or what is at work there; of each of
// its texts a number of lines, zero for all.
func (m model) stepPage(p page, lines int) page {
	step := m.selected()
	switch {
	case m.working():
		p.title, p.working = "at work", true
		p.lines = splitLines(m.moment.Working(m.now, lines, m.style))
	case step > 0:
		p.title, p.lines = "step", splitLines(m.moment.Detail(step, lines, m.style))
	default:
		p.title, p.lines = "step", []string{view.Plain(m.node) + " has not been reached"}
	}
	return p
}

// reopenWorking writes the running time anew.
func (m model) reopenWorking() model {
	if m.page == nil || !m.page.working {
		return m
	}
	return m.reopen()
}

func (m model) close() model {
	m.page = nil
	return m.arrange()
}

func (m model) scroll(lines int) model {
	p := *m.page
	p.top = max(0, min(p.top+lines, len(p.lines)-m.layout().page))
	m.page = &p
	return m
}

func (m model) toggleHelp() model {
	if m.page != nil && m.page.help {
		return m.close()
	}
	m.page = &page{help: true}
	return m.reopen()
}

// helpLines lists the keys, and explains the signs of the graph.
func (m model) helpLines() []string {
	var facts [][2]string
	for _, b := range graphKeys() {
		if !b.groups || m.replay.Grouped() {
			facts = append(facts, [2]string{strings.Join(b.keys, ", "), b.help})
		}
	}
	facts = append(facts, [2]string{"q, ctrl+c", "leave"})
	lines := append(splitLines(view.Facts(facts, m.style)), "")
	return append(lines, m.replay.Legend(m.style)...)
}
