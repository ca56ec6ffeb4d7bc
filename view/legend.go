package view

import "slices"

var (
	graphSigns = []string{"◇ chooses a route", "↩ goes back", "→ goes on at", "■ ends the run"}
	runSigns   = []string{"═ latest branch", "━ taken", "✓ ok", "✗ not ok", "● at work", "↩ goes back", "■ ends"}
	groupSign  = "⊞ includes"
)

// legend explains the signs of a drawing, on as many lines as it needs; those of
// groups only where there are any.
func legend(s Style, signs []string, groups bool) []string {
	if groups {
		signs = append(slices.Clip(signs), groupSign)
	}
	const space = "   "
	var lines []string
	line := ""
	for _, sign := range signs {
		if line != "" && Width(line+space+sign) > s.width() {
			lines, line = append(lines, s.Palette.Dim(line)), ""
		}
		if line != "" {
			line += space
		}
		line += sign
	}
	return append(lines, s.Palette.Dim(line))
}
