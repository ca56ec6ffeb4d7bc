package view

import "strings"

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
		name := s.Palette.Dim(pad(f[0], column))
		for line := range strings.Lines(f[1]) {
			for _, part := range s.foldFact(f[1], strings.TrimRight(line, "\n"), s.width()-column) {
				b.WriteString(strings.TrimRight(name+part, " ") + "\n")
				name = strings.Repeat(" ", column)
			}
		}
	}
	return b.String()
}

// foldFact folds a line of a value, unless that is a command over several lines for a
// shell, which would not be the same command any more.
func (s Style) foldFact(value, line string, cells int) []string {
	if strings.Contains(value, " \\\n") {
		return []string{line}
	}
	return s.fold(line, cells)
}

// Block writes a longer text below its name, indented and folded to the width;
// nothing if there is no text.
func Block(name, text string, s Style) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(s.Palette.Dim(name) + "\n")
	for line := range strings.Lines(text) {
		for _, part := range s.fold(strings.TrimRight(line, "\n"), s.width()-len(gap)) {
			b.WriteString(strings.TrimRight(gap+part, " ") + "\n")
		}
	}
	return b.String()
}
