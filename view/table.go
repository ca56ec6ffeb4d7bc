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
	// Middle cuts it in the middle: for names whose ends tell them apart.
	Middle bool
	// Name marks a column of names that are copied. It is cut in the middle, and
	// only when no other column has anything left to give.
	Name bool
	// Spare leaves the column out where the lines would be cut with it.
	Spare bool
	// Min is the width that the column has at least, if that is wider than its
	// title: for rows that come later.
	Min int
}

const (
	// narrowestFlex is how far a column is cut at most.
	narrowestFlex = 8
	// narrowestName is the same for a column of names.
	narrowestName = 16
)

// gap separates two columns.
const gap = "  "

// Table returns rows of cells as aligned lines that fit the width of the style.
// Cells may be coloured; text from a record is made plain by the caller.
func Table(columns []Column, rows [][]string, s Style) string {
	return NewLines(columns, s).Add(rows)
}

// Lines is a table that goes on: its later rows are not known yet. It is for
// one goroutine.
type Lines struct {
	columns []Column
	style   Style
	// wanted is the widest cell of each column so far.
	wanted []int
	// shown are the indexes of the columns that there is room for.
	shown []int
	begun bool
}

// NewLines begins a table without rows.
func NewLines(columns []Column, s Style) *Lines {
	l := &Lines{columns: columns, style: s, wanted: make([]int, len(columns))}
	for i, c := range columns {
		l.wanted[i] = max(c.Min, Width(c.Title))
	}
	return l
}

// Add returns further rows as lines, the first time below the titles. A column
// grows with its cells and never becomes narrower.
func (l *Lines) Add(rows [][]string) string {
	for _, row := range rows {
		for i, cell := range row {
			l.wanted[i] = max(l.wanted[i], Width(cell))
		}
	}
	if !l.begun {
		l.choose()
	}
	columns, widths := picked(l.columns, l.shown), picked(l.wanted, l.shown)
	if !l.style.Whole {
		shrink(columns, widths, l.style.width()-len(gap)*(len(widths)-1))
	}
	var b strings.Builder
	if !l.begun {
		b.WriteString(l.line(widths, l.titles()))
		l.begun = true
	}
	for _, row := range rows {
		b.WriteString(l.line(widths, row))
	}
	return b.String()
}

// choose leaves out spare columns, the last first, until the others fit.
func (l *Lines) choose() {
	need := -len(gap)
	for i, c := range l.columns {
		l.shown = append(l.shown, i)
		need += len(gap) + c.narrowest(l.wanted[i])
	}
	for i, c := range slices.Backward(l.columns) {
		if l.style.Whole || need <= l.style.width() {
			return
		}
		if c.Spare {
			l.shown = slices.DeleteFunc(l.shown, func(shown int) bool { return shown == i })
			need -= len(gap) + c.narrowest(l.wanted[i])
		}
	}
}

// narrowest is how far a column of a width can be cut.
func (c Column) narrowest(width int) int {
	switch {
	case c.Name:
		return min(width, narrowestName)
	case c.Flex:
		return min(width, narrowestFlex)
	default:
		return width
	}
}

func picked[T any](list []T, indexes []int) []T {
	some := make([]T, len(indexes))
	for i, index := range indexes {
		some[i] = list[index]
	}
	return some
}

func (l *Lines) titles() []string {
	titles := make([]string, len(l.columns))
	for i, c := range l.columns {
		titles[i] = l.style.Palette.Dim(c.Title)
	}
	return titles
}

func (l *Lines) line(widths []int, row []string) string {
	cells := make([]string, len(l.shown))
	for i, column := range l.shown {
		if column < len(row) {
			cells[i] = l.columns[column].cell(row[column], widths[i])
		}
	}
	return l.style.fit(strings.TrimRight(strings.Join(cells, gap), " "), l.style.width()) + "\n"
}

// cell makes a text exactly as wide as its column.
func (c Column) cell(text string, cells int) string {
	if c.Name || c.Middle {
		text = fitMiddle(text, cells)
	}
	text = Fit(text, cells)
	if c.Right {
		return strings.Repeat(" ", cells-Width(text)) + text
	}
	return pad(text, cells)
}

// shrink takes cells from the widest flexible column, and then from names,
// until all fit or nothing is left to take.
func shrink(columns []Column, widths []int, room int) {
	excess := -room
	for _, w := range widths {
		excess += w
	}
	for ; excess > 0; excess-- {
		widest := widestOf(columns, widths)
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// widestOf is the column that gives the next cell, -1 if none can.
func widestOf(columns []Column, widths []int) int {
	widest, name := -1, -1
	for i, c := range columns {
		switch w := widths[i]; {
		case c.Name && w > c.narrowest(w) && (name < 0 || w > widths[name]):
			name = i
		case c.Flex && w > c.narrowest(w) && (widest < 0 || w > widths[widest]):
			widest = i
		}
	}
	if widest < 0 {
		return name
	}
	return widest
}
