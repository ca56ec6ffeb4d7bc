package cli

import (
	"cmp"
	"path/filepath"
	"strings"

	"piworkflows/internal/wording"
	"piworkflows/view"
)

// factNames is what the names of facts, and a word before the command, take of a line.
const factNames = 16

// command writes a command of this program as a person types it, wherever that is:
// the flags that say where its project, store and runs are go along.
func (a *App) command(words string) string { return a.typed(words, " ") }

// commandBlock is command for the column of a table of facts, where a line that is
// too long would be folded: the flags get lines of their own then.
func (a *App) commandBlock(words string) string {
	line, style := a.command(words), a.Style()
	if style.Whole || view.Width(line) <= cmp.Or(style.Width, view.DefaultWidth)-factNames {
		return line
	}
	return a.typed(words, " \\\n  ")
}

func (a *App) typed(words, separator string) string {
	return strings.Join(append([]string{a.o.Name + " " + view.Plain(words)}, a.placeFlags()...), separator)
}

// placeFlags are those of this call that say where everything is, with paths that
// hold from anywhere.
func (a *App) placeFlags() []string {
	var list []string
	p := a.flags.places
	for _, flag := range [][2]string{{"--project", p.Project}, {"--store", p.Store}, {"--runs", p.Runs}} {
		if flag[1] == "" {
			continue
		}
		path := flag[1]
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		list = append(list, flag[0]+" "+wording.Argument(view.Plain(path)))
	}
	return list
}
