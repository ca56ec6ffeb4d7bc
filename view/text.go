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
	return strings.Join(strings.Fields(clean(text, ' ', ' ')), " ")
}

// PlainLines is Plain for text that keeps its lines and indentation.
func PlainLines(text string) string {
	return strings.TrimRight(clean(strings.ReplaceAll(text, "\r\n", "\n"), '\n', ' '), "\n")
}

// PlainOutput is Plain for the output of a program while it runs: line breaks and
// tabs stay, and a carriage return begins a line, so that nothing is overwritten.
func PlainOutput(text string) string {
	return clean(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), '\n', '\t')
}

// clean replaces what must not reach a terminal; newline stands for a line break
// and tab for a tab.
func clean(text string, newline, tab rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return newline
		case r == '\t':
			return tab
		case r == '\r':
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

// fitMiddle is Fit for a name whose end tells it from others: it is cut in the
// middle.
func fitMiddle(line string, cells int) string {
	width := Width(line)
	if width <= cells || cells < 3 {
		return line
	}
	end := (cells - 1) / 2
	return Fit(line, cells-end) + ansi.TruncateLeft(line, width-end, "")
}

// fold breaks a line into pieces of at most a number of cells, between words if
// that is possible.
func fold(line string, cells int) []string {
	return strings.Split(ansi.Wrap(line, max(cells, 1), ""), "\n")
}

// pad fills a line with spaces up to a number of cells.
func pad(line string, cells int) string {
	return line + strings.Repeat(" ", max(cells-Width(line), 0))
}

// Document writes a recorded JSON value for people, indented; nothing for null.
func Document(value json.RawMessage) string { return PlainLines(text(value)) }
