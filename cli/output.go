package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"piworkflows/view"
)

// head is the first field of every JSON result.
type head struct {
	Schema string `json:"schema"`
}

// schema names the JSON contract of a command.
func schema(command string) head { return head{product + ".cli." + command + ".v1"} }

// printJSON writes one result as an indented document.
func (a *App) printJSON(result any) error { return a.writeJSON(result, "  ") }

// streamJSON writes one of several results on a line of its own.
func (a *App) streamJSON(result any) error { return a.writeJSON(result, "") }

func (a *App) writeJSON(result any, indent string) error {
	e := json.NewEncoder(a.o.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(result); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// print writes text for people to stdout.
func (a *App) print(text string) error {
	if _, err := io.WriteString(a.o.Stdout, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// sayf writes a line of progress or a hint to stderr.
func (a *App) sayf(format string, args ...any) {
	fmt.Fprintf(a.o.Stderr, format+"\n", args...)
}

// Interactive reports whether stdout is a terminal.
func (a *App) Interactive() bool { return isTerminal(a.o.Stdout) }

// Live reports whether stderr is a terminal, so that progress may redraw lines.
func (a *App) Live() bool { return isTerminal(a.o.Stderr) }

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widest bounds the width of drawings: longer lines are hard to follow.
const widest = 160

// Style is how drawings and tables on stdout look: as wide as the terminal and
// in colour, unless the person does not want it. Elsewhere they are plain and
// nothing is cut, since a program or a file has no edge; but COLUMNS can give it
// one.
func (a *App) Style() view.Style { return a.styleOf(a.o.Stdout) }

// ProgressStyle is Style for stderr.
func (a *App) ProgressStyle() view.Style { return a.styleOf(a.o.Stderr) }

func (a *App) styleOf(w io.Writer) view.Style {
	columns := a.columns(w)
	s := view.Style{Palette: a.palette(w), Whole: columns == 0 && !isTerminal(w)}
	if columns >= view.DefaultWidth/2 {
		s.Width = min(columns, widest)
	}
	return s
}

// columns is how wide a writer is, zero if nothing tells: as the terminal says,
// else as COLUMNS does, by which a person can have a table for a file cut.
func (a *App) columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	columns, err := strconv.Atoi(a.o.Getenv("COLUMNS"))
	if err != nil || columns < 0 {
		return 0
	}
	return columns
}

// palette is that of a writer: colours on a terminal that has them, unless
// --no-color or NO_COLOR (https://no-color.org) forbid it.
func (a *App) palette(w io.Writer) view.Palette {
	if !isTerminal(w) || a.flags.noColor || a.o.Getenv("NO_COLOR") != "" || a.o.Getenv("TERM") == "dumb" {
		return view.Palette{}
	}
	return view.Colors()
}
