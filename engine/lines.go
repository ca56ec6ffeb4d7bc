package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

// byteOrderMark may stand at the beginning of a stream and is no text.
const byteOrderMark = "\uFEFF"

var errNotUTF8 = errors.New("it is not UTF-8: let the command write UTF-8, or leave Updates out")

// LineError says that a line of the output of a command with LineUpdates could
// not be turned into updates. The command was killed.
type LineError struct {
	Stream workflow.Stream
	// Line counts the lines of the stream from one.
	Line int
	// Err is a *limit.Error for a line that is too long, the error of Parse, or why
	// an update was refused.
	Err error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d of %s: %v", e.Line, e.Stream, e.Err)
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// ErrorCode is the code of Err, or else "output_line".
func (e *LineError) ErrorCode() string { return codeOf(e.Err, "output_line") }

// lines turns the output of one command into updates. Its calls never overlap.
// Spec: workflow engine, Streaming updates from a command.
type lines struct {
	a       *attempt
	c       *workflow.Context // for the parser, which may publish
	updates *workflow.LineUpdates

	// ctx is that of the command; fail ends it because of a line.
	ctx  context.Context
	fail context.CancelCauseFunc

	open [2]openLine // by stream
}

// openLine is the line of a stream that has no end yet.
type openLine struct {
	stream workflow.Stream
	number int
	text   []byte
}

// lines hears nothing if there are no updates to be had.
func (a *attempt) lines(ctx context.Context, u *workflow.LineUpdates) *lines {
	c := *a.c
	c.Publisher = a.publish
	l := &lines{a: a, c: &c, updates: u, open: [2]openLine{{stream: workflow.Stdout, number: 1}, {stream: workflow.Stderr, number: 1}}}
	l.ctx, l.fail = context.WithCancelCause(ctx)
	return l
}

// take takes the next chunk of a stream. While it works nothing more is read, so
// that the command waits.
func (l *lines) take(stream string, chunk []byte) {
	if l.updates == nil {
		return
	}
	open := &l.open[0]
	if stream == string(workflow.Stderr) {
		open = &l.open[1]
	}
	for l.ctx.Err() == nil {
		text, rest, ended := bytes.Cut(chunk, []byte("\n"))
		open.text = append(open.text, text...)
		if len(open.text) > workflow.MaxLineBytes {
			l.refuse(open, &limit.Error{What: "a line of output", Limit: workflow.MaxLineBytes, Size: len(open.text), Unit: "bytes"})
			return
		}
		if !ended {
			return
		}
		l.line(open, open.text)
		open.text, open.number = open.text[:0], open.number+1
		chunk = rest
	}
}

// end parses what stands after the last line feed of each stream.
func (l *lines) end() {
	for i := range l.open {
		if open := &l.open[i]; len(open.text) > 0 {
			l.line(open, open.text)
		}
	}
}

// line publishes what one line stands for.
func (l *lines) line(open *openLine, text []byte) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	if open.number == 1 {
		text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	}
	if !utf8.Valid(text) {
		l.refuse(open, errNotUTF8)
		return
	}
	if !l.updates.From(open.stream) || l.ctx.Err() != nil {
		return
	}
	line := workflow.Line{Stream: open.stream, Text: string(text)}
	_, err := call(l.ctx, l.a.r.e, l.a.what("the line parser"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.publish(ctx, line)
	})
	if err != nil {
		l.refuse(open, err)
	}
}

func (l *lines) publish(ctx context.Context, line workflow.Line) error {
	updates, err := l.updates.Parse(ctx, l.c, line)
	for _, u := range updates {
		if err != nil {
			break
		}
		_, err = l.a.publish(ctx, u)
	}
	return err
}

// refuse ends the command, unless it ends already: then that is the reason.
func (l *lines) refuse(open *openLine, err error) {
	l.fail(&LineError{Stream: open.stream, Line: open.number, Err: err})
}
