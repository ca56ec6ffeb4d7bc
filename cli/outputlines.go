package cli

import (
	"strings"

	"piworkflows/runbundle/spool"
	"piworkflows/view"
)

// outputLines makes lines for people of pieces of output, which need not end with
// a line, and may come from several streams in turn.
type outputLines struct {
	palette view.Palette
	// indent begins each line; bare leaves out where it came from.
	indent string
	bare   bool
	// open is where the line came from that has no end yet.
	open string
}

// marks stand between the node and the text of a line.
var marks = map[string]string{spool.Stderr: "!", streamError: "✗"}

// text writes a piece.
func (l *outputLines) text(o outputPiece) string {
	text := view.PlainOutput(o.Text)
	if o.Dropped {
		text = "… the rest was not kept\n"
	}
	var b strings.Builder
	from := o.Attempt + " " + o.Stream
	if l.open != from {
		b.WriteString(l.end())
	}
	for line := range strings.Lines(text) {
		if l.open == "" {
			b.WriteString(l.margin(o))
		}
		b.WriteString(line)
		l.open = from
		if strings.HasSuffix(line, "\n") {
			l.open = ""
		}
	}
	return b.String()
}

// end ends the line that has no end yet, before something else is written.
func (l *outputLines) end() string {
	if l.open == "" {
		return ""
	}
	l.open = ""
	return "\n"
}

// margin is what a line begins with.
func (l *outputLines) margin(o outputPiece) string {
	if l.bare {
		return l.indent
	}
	mark := marks[o.Stream]
	if mark == "" {
		mark = "|"
	}
	return l.indent + l.palette.Dim(view.Plain(o.Node)+" "+mark) + " "
}
