package cli

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

const (
	// clearScreen moves a terminal to its upper left corner and empties it.
	clearScreen = "\x1b[H\x1b[2J"
	// The same without a flicker: home, and what is left of a line and of the
	// screen is cleared after each was written.
	home       = "\x1b[H"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// redraw shows a text on the whole terminal in place of what it showed before. A
// text that is too long is cut at the bottom, and says so.
func (a *App) redraw(text string, first bool) error {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if rows := a.rows(); rows > 1 && len(lines) >= rows {
		hidden := len(lines) - rows + 2
		lines = append(lines[:rows-2], fmt.Sprintf("… %d more lines", hidden))
	}
	begin := home
	if first {
		begin = clearScreen
	}
	return a.print(begin + strings.Join(lines, clearLine+"\n") + clearLine + "\n" + clearBelow)
}

// rows is how high the terminal of stdout is; zero if nobody tells.
func (a *App) rows() int {
	f, ok := a.o.Stdout.(*os.File)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return rows
}
