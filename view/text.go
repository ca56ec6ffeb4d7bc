package view

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Plain returns text from a record as one line that is safe to print: escape
// sequences are gone, line breaks and tabs are spaces, and what else commands a
// terminal or turns the direction of writing is replaced by U+FFFD.
func Plain(text string) string {
	return strings.Join(strings.Fields(clean(text, ' ')), " ")
}

// PlainLines is Plain for text that keeps its lines and indentation.
func PlainLines(text string) string {
	return strings.TrimRight(clean(strings.ReplaceAll(text, "\r\n", "\n"), '\n'), "\n")
}

// clean replaces what must not reach a terminal; newline stands for a line
// break.
func clean(text string, newline rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return newline
		case r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || steers(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, ansi.Strip(strings.ToValidUTF8(text, "\uFFFD")))
}

// steers reports characters that change the order in which a terminal shows
// the others.
func steers(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// Width returns the number of terminal cells of one line, not counting colours.
func Width(line string) int { return ansi.StringWidth(line) }

// Fit cuts a line to a number of cells and marks the cut with an ellipsis. It
// keeps colours whole.
func Fit(line string, cells int) string { return ansi.Truncate(line, max(cells, 0), "…") }

// fold breaks a line into pieces of at most a number of cells.
func fold(line string, cells int) []string {
	return strings.Split(ansi.Hardwrap(line, max(cells, 1), true), "\n")
}

// pad fills a line with spaces up to a number of cells.
func pad(line string, cells int) string {
	return line + strings.Repeat(" ", max(cells-Width(line), 0))
}

// Document writes a recorded JSON value for people, indented; nothing for null.
func Document(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	return PlainLines(text(value))
}

// Facts writes named values below each other, each name in a column of its own.
// Values may have several lines; a fact without a value is left out.
func Facts(facts [][2]string, s Style) string {
	column := 0
	for _, f := range facts {
		if f[1] != "" {
			column = max(column, Width(f[0])+len(gap))
		}
	}
	var b strings.Builder
	for _, f := range facts {
		if f[1] == "" {
			continue
		}
		name := s.Palette.Dim(pad(f[0], column))
		for line := range strings.Lines(f[1]) {
			for _, part := range fold(strings.TrimRight(line, "\n"), s.width()-column) {
				b.WriteString(strings.TrimRight(name+part, " ") + "\n")
				name = strings.Repeat(" ", column)
			}
		}
	}
	return b.String()
}
