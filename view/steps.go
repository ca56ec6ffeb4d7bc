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
	lines := []string{r.Palette.Bold(title), "started " + s.StartedAt.String()}
	if c := command(s.Action); c != "" {
		lines = append(lines, "command "+c)
	}
	for _, block := range []struct{ name, text string }{
		{"prompt", text(s.Prompt)}, {"error", s.Error}, {"output", text(s.Output)},
	} {
		lines = append(lines, r.block(block.name, block.text)...)
	}
	return r.fit(lines)
}

// block shows a text below its name, folded to the width and not without end.
func (r *recorded) block(name, text string) []string {
	if text == "" {
		return nil
	}
	lines := []string{r.Palette.Dim(name)}
	for line := range strings.Lines(PlainLines(text)) {
		for _, part := range fold(strings.TrimRight(line, "\n"), r.width()-2) {
			if len(lines) > detailLines {
				return append(lines, r.Palette.Dim("  … the rest is in -o json"))
			}
			lines = append(lines, "  "+part)
		}
	}
	return lines
}

// text is a recorded value for people: a string as it is, all else as indented
// JSON; nothing for null.
func text(value json.RawMessage) string {
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
