package workflow

import (
	"context"
	"slices"
)

// MaxLineBytes bounds a line of the output of a command with LineUpdates, its
// line feed not counted.
const MaxLineBytes = 64 << 10

// Stream is one of the two outputs of a command.
type Stream string

// The outputs of a command.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Line is one line of the output of a command.
type Line struct {
	Stream Stream
	// Text is without its line feed, and without a carriage return before that.
	// It may be empty.
	Text string
}

// LineUpdates publishes updates for lines that a command writes while it runs.
// The lines of both streams are taken one after the other, in the order in which
// they came, and the command waits while one is being parsed; a last line
// without a line feed is parsed when the command has ended.
//
// A line that is too long or is not UTF-8, on either stream, an error of Parse,
// and an update that is refused kill the command and fail the attempt.
//
// Spec: workflow engine, Streaming updates from a command.
type LineUpdates struct {
	// Parse returns the updates that a line stands for, often none; required. Its
	// Context can publish too. It must return when its context ends.
	Parse func(ctx context.Context, c *Context, line Line) ([]Update, error)
	// Streams are those whose lines are parsed; none is Stdout alone.
	Streams []Stream
}

func (u *LineUpdates) shape(p *problems, place string) {
	p.require(u.Parse != nil, place+".parse", "the function Parse")
	for i, s := range u.Streams {
		switch {
		case s != Stdout && s != Stderr:
			p.addf(place+".streams", "%q is neither %q nor %q", shorten(string(s)), Stdout, Stderr)
		case slices.Contains(u.Streams[:i], s):
			p.addf(place+".streams", "%q is named twice: keep one", s)
		}
	}
}

// From reports whether the lines of a stream are parsed.
func (u *LineUpdates) From(s Stream) bool {
	return slices.Contains(u.Streams, s) || len(u.Streams) == 0 && s == Stdout
}
