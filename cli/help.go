package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"piworkflows/view"
)

// fitHelp folds the help of all commands to the terminal; elsewhere, and on a wide
// one, to the width that pages of help have.
func (a *App) fitHelp(root *cobra.Command) {
	width := min(cmp.Or(a.Style().Width, view.DefaultWidth), view.DefaultWidth)
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width),
		"for more information about a command", "for more about a command",
	).Replace(root.UsageTemplate()))
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = ansi.Wrap(paragraphs(cmd.Long), width, "")
		show(cmd, args)
	})
}

// paragraphs takes the ends of lines out of a text, but for those that end a
// paragraph or stand at an indented line.
func paragraphs(text string) string {
	var b strings.Builder
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		runs := line != "" && line[0] != ' '
		switch {
		case open && runs:
			b.WriteByte(' ')
		case b.Len() > 0:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		open = runs
	}
	return b.String()
}
