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

// table lists the steps, one a line.
func (r *recorded) table() string {
	if len(r.steps) == 0 {
		return r.Palette.Dim("no step has ended yet") + "\n"
	}
	columns := []Column{
		{Title: "STEP", Right: true}, {Title: "NODE", Flex: true}, {Title: "OUTCOME"},
		{Title: "TOOK", Right: true}, {Title: "OUTPUT OR ERROR", Flex: true},
	}
	rows := make([][]string, len(r.steps))
	for i, s := range r.steps {
		rows[i] = []string{
			strconv.Itoa(i + 1), Plain(s.NodeID), Mark(s.Outcome, r.Palette) + " " + words(string(s.Outcome)),
			stepTook(s), preview(s),
		}
	}
	return Table(columns, rows, r.Style)
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

// detail shows one step in full.
func (r *recorded) detail(s runbundle.Step) string {
	title := fmt.Sprintf("step %d  %s  %s %s after %s", r.Step, Plain(s.NodeID),
		Mark(s.Outcome, r.Palette), words(string(s.Outcome)), stepTook(s))
	return r.lines([]string{r.Palette.Bold(title)}) +
		Facts([][2]string{{"started", s.StartedAt.String()}, {"command", command(s.Action)}}, r.Style) +
		r.block("prompt", text(s.Prompt)) + r.block("error", s.Error) + r.block("output", text(s.Output))
}

// block shows a text in full, but not without end.
func (r *recorded) block(name, text string) string {
	lines := strings.SplitAfterN(Block(name, PlainLines(text), r.Style), "\n", detailLines+2)
	if last := len(lines) - 1; last > detailLines && lines[last] != "" {
		lines[last] = r.Palette.Dim(gap+"… the rest is in -o json") + "\n"
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
