package view

import (
	"slices"
	"strings"
)

// Column is one column of a table.
type Column struct {
	// Title stands in the first line.
	Title string
	// Right aligns numbers.
	Right bool
	// Flex marks a column that is cut when the table would be too wide.
	Flex bool
}

// narrowestFlex is how far a column is cut at most.
const narrowestFlex = 8

// gap separates two columns.
const gap = "  "

// Table returns rows of cells as aligned lines that fit the width of the style.
// Cells may be coloured; text from a record is made plain by the caller.
func Table(columns []Column, rows [][]string, s Style) string {
	widths := make([]int, len(columns))
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = s.Palette.Dim(c.Title)
		widths[i] = Width(c.Title)
		for _, row := range rows {
			widths[i] = max(widths[i], Width(row[i]))
		}
	}
	shrink(columns, widths, s.width()-len(gap)*(len(columns)-1))
	var b strings.Builder
	for _, row := range slices.Concat([][]string{titles}, rows) {
		b.WriteString(tableLine(columns, widths, row, s))
	}
	return b.String()
}

func tableLine(columns []Column, widths []int, row []string, s Style) string {
	cells := make([]string, len(row))
	for i, text := range row {
		text = Fit(text, widths[i])
		if columns[i].Right {
			cells[i] = strings.Repeat(" ", widths[i]-Width(text)) + text
		} else {
			cells[i] = pad(text, widths[i])
		}
	}
	return Fit(strings.TrimRight(strings.Join(cells, gap), " "), s.width()) + "\n"
}

// shrink takes cells from the widest flexible column until all fit or nothing
// is left to take.
func shrink(columns []Column, widths []int, room int) {
	excess := -room
	for _, w := range widths {
		excess += w
	}
	for ; excess > 0; excess-- {
		widest := -1
		for i, c := range columns {
			if c.Flex && widths[i] > narrowestFlex && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}
