package view

import "charm.land/lipgloss/v2"

// Palette gives text a meaning in colour. The zero Palette writes plain text:
// every drawing can be read without colours.
type Palette struct{ on bool }

// Colors returns the palette for a terminal.
func Colors() Palette { return Palette{on: true} }

// Good is for what succeeded and what holds.
func (p Palette) Good(text string) string { return p.paint(text, good) }

// Bad is for what failed.
func (p Palette) Bad(text string) string { return p.paint(text, bad) }

// Now is for what happened last.
func (p Palette) Now(text string) string { return p.paint(text, now) }

// Warm is for what is going on or not known yet.
func (p Palette) Warm(text string) string { return p.paint(text, warm) }

// Dim is for what matters less.
func (p Palette) Dim(text string) string { return p.paint(text, dim) }

// Bold is for names and headings.
func (p Palette) Bold(text string) string { return p.paint(text, bold) }

// The sixteen basic colours follow the theme of the terminal.
var (
	good = lipgloss.NewStyle().Foreground(lipgloss.Green)
	bad  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	now  = lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true)
	warm = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	dim  = lipgloss.NewStyle().Faint(true)
	bold = lipgloss.NewStyle().Bold(true)
)

func (p Palette) paint(text string, s lipgloss.Style) string {
	if !p.on || text == "" {
		return text
	}
	return s.Inline(true).Render(text)
}
