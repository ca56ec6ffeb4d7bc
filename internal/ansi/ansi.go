// Package ansi takes out of a text what a terminal would obey instead of show.
package ansi

import "regexp"

// escapes are what colours, moves the cursor and sets titles: control sequences,
// operating system commands with either of their ends, and short sequences.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-9:;<=>?]*[ -/]*[@-~]" +
	"|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)" +
	"|\x1b[ -/]*[0-~]")

// Strip returns the text without escape sequences. Other control characters
// stay, and so does the rest of a sequence that was cut off.
func Strip(text string) string { return escapes.ReplaceAllString(text, "") }
