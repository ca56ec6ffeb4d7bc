package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piworkflows/runbundle"
)

const (
	// previewCells is how much of an output or error a list of steps shows.
	previewCells = 60
	// bytesPerCell bounds how much of a long text is looked at for a part of it.
	bytesPerCell = 16
	// detailLines bounds how much of an output is shown in full.
	detailLines = 200
)

// StepTable lists some of the steps, one a line: those from first, counted from
// zero, up to last, which is not among them.
func (m *Moment) StepTable(first, last int, s Style) string {
	if last == 0 {
		return s.Palette.Dim("no step has ended yet") + "\n"
	}
	return Table(stepColumns, m.stepRows(first, last, s), s)
}

var stepColumns = []Column{
	{Title: "STEP", Right: true}, {Title: "NODE", Flex: true, Middle: true}, {Title: "OUTCOME"},
	{Title: "TOOK", Right: true}, {Title: "OUTPUT OR ERROR", Flex: true},
}

// StepLines is StepTable without titles, for a window that moves over the steps:
// its columns stay where they are.
func (m *Moment) StepLines(first, last int, s Style) []string {
	if first >= last {
		return nil
	}
	columns := slices.Clone(stepColumns)
	for n, visits := range m.way.visits {
		if visits > 0 {
			columns[1].Min = max(columns[1].Min, Width(m.stepName(m.graph.Nodes[n].ID)))
		}
	}
	columns[2].Min, columns[3].Min = len("x timed out"), len("59m59s")
	return strings.Split(strings.TrimSuffix(Table(columns, m.stepRows(first, last, s), s), "\n"), "\n")[1:]
}

func (m *Moment) stepRows(first, last int, s Style) [][]string {
	rows := make([][]string, 0, last-first)
	for i, step := range m.steps[first:last] {
		rows = append(rows, []string{
			strconv.Itoa(first + i + 1), m.stepName(step.NodeID), Mark(step.Outcome, s.Palette) + " " + words(string(step.Outcome)),
			stepTook(step), preview(step),
		})
	}
	return rows
}

// stepName is a node for people: its ID, or which border of a group it is.
func (m *Moment) stepName(id string) string {
	n, ok := m.graph.index[id]
	if !ok {
		return Plain(id)
	}
	return m.graph.Nodes[n].StepName()
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
	text := compact(value)
	if most := cells * bytesPerCell; len(text) > most {
		text = text[:most] // a cut character becomes a sign that is cut away
	}
	return Fit(Plain(text), cells)
}

// Detail shows one step in full, counted from one: its times, its command, and
// of its prompt, error and output each at most a number of lines; zero is all.
func (m *Moment) Detail(step, lines int, style Style) string {
	s := m.steps[step-1]
	title := fmt.Sprintf("step %d  %s  %s %s after %s", step, m.stepName(s.NodeID),
		Mark(s.Outcome, style.Palette), words(string(s.Outcome)), stepTook(s))
	return style.fit(style.Palette.Bold(title), style.width()) + "\n" +
		Facts([][2]string{{"started", s.StartedAt.String()}, {"command", command(s.Action)}, {"folder", folder(s.Action)}}, style) +
		block("prompt", text(s.Prompt), lines, style) + block("error", s.Error, lines, style) +
		block("output", text(s.Output), lines, style)
}

// block shows a text in at most a number of lines; zero is all of it.
func block(name, text string, most int, style Style) string {
	if most == 0 {
		return Block(name, PlainLines(text), style)
	}
	// What cannot be among these lines need not be folded.
	bytes := (most + 1) * style.width() * bytesPerCell
	lines := strings.SplitAfterN(Block(name, PlainLines(text[:min(len(text), bytes)]), style), "\n", most+2)
	if last := len(lines) - 1; last > most && lines[last] != "" {
		lines[last] = style.Palette.Dim(gap+"… the rest is in -o json") + "\n"
	}
	return strings.Join(lines, "")
}

// AtWork reports whether the moment is the present, and a node is at work.
func (m *Moment) AtWork() bool {
	return m.step == 0 && m.bundle.State.CurrentNode != "" && m.standing == ""
}

// Working shows the attempt at work, as Detail does a step; empty if there is
// none.
func (m *Moment) Working(now time.Time, lines int, style Style) string {
	s := &m.bundle.State
	if !m.AtWork() {
		return ""
	}
	title := m.stepName(s.CurrentNode) + "  " + style.Palette.Warm("●") + " at work for " +
		Duration(now.Sub(s.CurrentNodeStartedAt.Time))
	return style.fit(style.Palette.Bold(title), style.width()) + "\n" +
		Facts([][2]string{{"started", s.CurrentNodeStartedAt.String()}, {"detail", Plain(s.StatusDetail)}}, style) +
		block("prompt", m.prompt(s.CurrentAttemptID), lines, style)
}

// prompt is what an attempt was sent, which only the trace has until it ends.
func (m *Moment) prompt(attempt string) string {
	for _, e := range slices.Backward(m.bundle.Events) {
		if e.AttemptID != attempt {
			continue
		}
		switch p, _ := e.Decode(); p := p.(type) {
		case runbundle.PromptSent:
			return p.Prompt
		case runbundle.NodeStarted:
			return ""
		}
	}
	return ""
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

func folder(r *runbundle.Receipt) string {
	if r == nil || r.CommandReceipt == nil {
		return ""
	}
	return Plain(r.Dir)
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
