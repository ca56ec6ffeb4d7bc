package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piworkflows/runbundle"
)

const (
	// previewCells is how much of an output or error a list of steps shows.
	previewCells = 60
	// detailLines bounds how much of an output is shown in full.
	detailLines = 200
)

// StepTable lists some of the steps, one a line: those from first, counted from
// zero, up to last, which is not among them.
func (m *Moment) StepTable(first, last int, s Style) string {
	if last == 0 {
		return s.Palette.Dim("no step has ended yet") + "\n"
	}
	columns := []Column{
		{Title: "STEP", Right: true}, {Title: "NODE", Flex: true}, {Title: "OUTCOME"},
		{Title: "TOOK", Right: true}, {Title: "OUTPUT OR ERROR", Flex: true},
	}
	rows := make([][]string, 0, last-first)
	for i, step := range m.steps[first:last] {
		rows = append(rows, []string{
			strconv.Itoa(first + i + 1), m.stepName(step.NodeID), Mark(step.Outcome, s.Palette) + " " + words(string(step.Outcome)),
			stepTook(step), preview(step),
		})
	}
	return Table(columns, rows, s)
}

// stepName is a node for people: its ID, or which border of a group it is.
func (m *Moment) stepName(id string) string {
	n, ok := m.graph.index[id]
	if !ok {
		return Plain(id)
	}
	switch node := m.graph.Nodes[n]; node.Role {
	case Entry:
		return "enter " + Plain(node.Group)
	case Exit:
		return Plain(node.Group + "." + node.local())
	default:
		return Plain(id)
	}
}

func stepTook(s runbundle.Step) string { return Duration(s.FinishedAt.Sub(s.StartedAt.Time)) }

// preview is the output of a step in short, or why it has none.
func preview(s runbundle.Step) string {
	if s.Outcome != runbundle.OutcomeOK {
		return Fit(Plain(s.Error), previewCells)
	}
	return Preview(s.Output, previewCells)
}

// Preview is a recorded value in short, in at most a number of cells; nothing
// for null.
func Preview(value json.RawMessage, cells int) string {
	if string(value) == "null" {
		return ""
	}
	return Fit(Plain(compact(value)), cells)
}

// Detail shows one step in full, counted from one.
func (m *Moment) Detail(step int, style Style) string {
	s := m.steps[step-1]
	title := fmt.Sprintf("step %d  %s  %s %s after %s", step, m.stepName(s.NodeID),
		Mark(s.Outcome, style.Palette), words(string(s.Outcome)), stepTook(s))
	return style.fit(style.Palette.Bold(title), style.width()) + "\n" +
		Facts([][2]string{{"started", s.StartedAt.String()}, {"command", command(s.Action)}}, style) +
		block("prompt", text(s.Prompt), style) + block("error", s.Error, style) + block("output", text(s.Output), style)
}

// block shows a text in full, but not without end.
func block(name, text string, style Style) string {
	lines := strings.SplitAfterN(Block(name, PlainLines(text), style), "\n", detailLines+2)
	if last := len(lines) - 1; last > detailLines && lines[last] != "" {
		lines[last] = style.Palette.Dim(gap+"… the rest is in -o json") + "\n"
	}
	return strings.Join(lines, "")
}

// text is a recorded value for people: a string as it is, all else as indented
// JSON; nothing for null.
func text(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// compact is a recorded value on one line.
func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

func command(r *runbundle.Receipt) string {
	if r == nil || r.CommandReceipt == nil {
		return ""
	}
	line := Plain(strings.Join(append([]string{r.Command}, r.Args...), " "))
	switch {
	case r.Signal != nil:
		return line + " (ended by " + Plain(*r.Signal) + ")"
	case r.ExitCode != nil:
		return fmt.Sprintf("%s (exit %d)", line, *r.ExitCode)
	default:
		return line
	}
}
