package view

// DefaultWidth is how many cells a drawing takes if Style does not say.
const DefaultWidth = 80

// Style says how a drawing looks. The zero Style is 80 cells wide and plain.
type Style struct {
	// Width is the number of cells of a line; zero is DefaultWidth. What is
	// longer is cut or folded.
	Width int
	// Whole leaves every text as long as it is, for a file or another program;
	// Width then only tells where a drawing turns back to the left margin.
	Whole   bool
	Palette Palette
}

func (s Style) width() int {
	if s.Width == 0 {
		return DefaultWidth
	}
	return s.Width
}

// fit is Fit, unless all is left whole.
func (s Style) fit(line string, cells int) string {
	if s.Whole {
		return line
	}
	return Fit(line, cells)
}

// fold is fold, unless all is left whole.
func (s Style) fold(line string, cells int) []string {
	if s.Whole {
		return []string{line}
	}
	return fold(line, cells)
}
