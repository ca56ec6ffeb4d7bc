package live

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// binding is what some keys do.
type binding struct {
	keys []string
	do   func(m model) model
	// sign and means stand in the help line and, with help, in the list of keys.
	sign, means, help string
	// groups says that the keys are of use only where there are groups.
	groups bool
}

const pageOfNodes = 5

// graphKeys work on the graph, pageKeys on an opened page. The first ones stand
// in the help line.
func graphKeys() []binding {
	return []binding{
		{[]string{"left", "h"}, model.back, "←→", "step", "the step before", false},
		{[]string{"up", "k"}, func(m model) model { return m.move(-1) }, "↑↓", "node", "the node above", false},
		{[]string{"enter"}, model.open, "enter", "open", "open the step, or the group, at the cursor", false},
		{[]string{"space"}, model.toggle, "space", "fold", "open or fold the group at the cursor", true},
		{[]string{"end", "G"}, func(m model) model { return m.jump(0) }, "end", "now", "the present: follow the run", false},
		{[]string{"right", "l"}, model.forth, "→", "", "the step after, at last the present", false},
		{[]string{"down", "j"}, func(m model) model { return m.move(1) }, "↓", "", "the node below", false},
		{[]string{"home", "g"}, func(m model) model { return m.jump(min(1, m.replay.Steps())) }, "home", "", "the first step", false},
		{[]string{"pgup", "b"}, func(m model) model { return m.move(-pageOfNodes) }, "pgup", "", "some nodes up", false},
		{[]string{"pgdown", "f"}, func(m model) model { return m.move(pageOfNodes) }, "pgdn", "", "some nodes down", false},
		{[]string{"a"}, model.toggleAll, "a", "", "open all groups, or fold them again", true},
	}
}

func pageKeys() []binding {
	return []binding{
		{[]string{"up", "k"}, func(m model) model { return m.scroll(-1) }, "↑↓", "scroll", "", false},
		{[]string{"left", "h"}, model.back, "←→", "step", "", false},
		{[]string{"esc", "enter", "backspace"}, model.close, "esc", "back", "", false},
		{[]string{"down", "j"}, func(m model) model { return m.scroll(1) }, "", "", "", false},
		{[]string{"right", "l"}, model.forth, "", "", "", false},
		{[]string{"pgup", "b"}, func(m model) model { return m.scroll(-m.layout().page) }, "", "", "", false},
		{[]string{"pgdown", "f", "space"}, func(m model) model { return m.scroll(m.layout().page) }, "", "", "", false},
		{[]string{"home", "g"}, func(m model) model { return m.scroll(-len(m.page.lines)) }, "", "", "", false},
		{[]string{"end", "G"}, func(m model) model { return m.scroll(len(m.page.lines)) }, "", "", "", false},
	}
}

// press does what a key does.
func (m model) press(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q", "ctrl+c":
		return m, tea.Quit
	case "ctrl+z":
		return m, tea.Suspend
	case "?":
		return m.toggleHelp(), nil
	}
	bindings := graphKeys()
	if m.page != nil {
		bindings = pageKeys()
	}
	for _, b := range bindings {
		if slices.Contains(b.keys, key) {
			return b.do(m), nil
		}
	}
	return m, nil
}

// back goes to the step before; from the present to the latest one.
func (m model) back() model {
	switch {
	case m.replay.Steps() == 0:
		return m
	case m.step == 0:
		return m.jump(m.replay.Steps())
	default:
		return m.jump(max(1, m.step-1))
	}
}

// forth goes to the step after; from the latest one to the present.
func (m model) forth() model {
	if m.step == 0 || m.step >= m.replay.Steps() {
		return m.jump(0)
	}
	return m.jump(m.step + 1)
}
