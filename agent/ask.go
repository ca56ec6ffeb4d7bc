package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"piworkflows/engine"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// AskOptions configure an Ask.
type AskOptions struct {
	// In is where the answers are read, Out where questions are written;
	// required.
	In  io.Reader
	Out io.Writer
	// Plain makes the words of authors and models safe for a terminal; nil writes
	// them as they are.
	Plain func(text string) string
	// Echo writes what was read behind the prompt, for an In that is no terminal
	// and so shows nothing.
	Echo bool
}

// Ask is an executor that asks a person. It writes the question, reads an answer,
// and asks again if that is rejected. The end of the input gives up: the attempt
// fails with a *GaveUpError. Answers may come through a pipe, those of several
// steps one after the other.
//
// An answer is a line of text. It goes on over more lines if the first one
// begins a JSON object or array, until that is complete or an empty line comes,
// or if the first line is three double quotes, until another such line. It is
// handed in as a text, in which the engine looks for JSON.
//
// Ask asks one question at a time and is safe for concurrent use. When the
// context of a step ends it returns at once and, if In is a file on Unix (a
// terminal and a pipe included), nothing is left behind. Any other reader, and
// every reader on Windows, cannot be interrupted: one goroutine waits on in its
// Read, and what it brings is the beginning of the next answer.
type Ask struct {
	in    *lines
	out   io.Writer
	plain func(string) string
	echo  bool
	turn  chan struct{} // holds a value while a question is open
}

// NewAsk returns an executor that asks a person.
func NewAsk(o AskOptions) *Ask {
	if o.Plain == nil {
		o.Plain = func(text string) string { return text }
	}
	return &Ask{in: &lines{from: newInput(o.In)}, out: o.Out, plain: o.Plain, echo: o.Echo, turn: make(chan struct{}, 1)}
}

// Execute asks until an answer is accepted. It is engine.AgentExecutor.
func (a *Ask) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := a.question(r); err != nil {
		return nil, err
	}
	for {
		answer, err := a.answer(ctx, r.Contract.NodeID)
		if err != nil {
			return nil, err
		}
		err = r.Accept(ctx, Text(answer))
		if rejected := (*engine.SubmissionError)(nil); !errors.As(err, &rejected) {
			return nil, err
		}
		if err := a.writef("Not accepted: %s\n", a.plain(err.Error())); err != nil {
			return nil, err
		}
	}
}

func (a *Ask) question(r engine.AgentRequest) error {
	title := r.Contract.WorkflowName
	if r.RunTitle != "" {
		title = r.RunTitle
	}
	return a.writef("\n%s · %s\n\n%s\n\nExpected: %s\n"+
		"Answer in one line; JSON may go over several, and other text between lines of %s. Ctrl-D gives up.\n",
		a.plain(title), a.plain(r.Contract.NodeID), a.plain(r.Authored()), a.plain(r.Contract.Expected()), quotes)
}

func (a *Ask) writef(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil {
		return fmt.Errorf("write to the person who is asked: %w", err)
	}
	return nil
}

// quotes is the line before and after a text of several lines.
const quotes = `"""`

// answer reads one answer.
func (a *Ask) answer(ctx context.Context, node string) (string, error) {
	if err := a.writef("%s> ", a.plain(node)); err != nil {
		return "", err
	}
	first, err := a.first(ctx)
	if err != nil {
		_ = a.writef("\n") // the prompt still stands on this line
	}
	if errors.Is(err, io.EOF) {
		return "", &GaveUpError{NodeID: node}
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(first) == quotes {
		return a.quoted(ctx)
	}
	var open brackets
	if open.read(first); !open.open() {
		return first, nil
	}
	return a.rest(ctx, first, open)
}

// first reads the line with which an answer begins.
func (a *Ask) first(ctx context.Context) (string, error) {
	for {
		line, err := a.line(ctx)
		if err != nil || strings.TrimSpace(line) != "" {
			return line, err
		}
	}
}

// maxEcho bounds what is repeated of a line, in characters.
const maxEcho = 200

func (a *Ask) line(ctx context.Context) (string, error) {
	line, err := a.in.next(ctx)
	if err != nil || !a.echo {
		return line, err
	}
	return line, a.writef("%s\n", a.plain(limit.Text(line, maxEcho)))
}

// quoted reads a text up to the line that closes it.
func (a *Ask) quoted(ctx context.Context) (string, error) {
	var text block
	for {
		line, err := a.line(ctx)
		if errors.Is(err, io.EOF) || err == nil && strings.TrimSpace(line) == quotes {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		text.add(line)
	}
}

// rest reads the further lines of an object or array.
func (a *Ask) rest(ctx context.Context, first string, open brackets) (string, error) {
	var text block
	text.add(first)
	for {
		line, err := a.line(ctx)
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		text.add(line)
		open.read(line)
		if !open.open() || strings.TrimSpace(line) == "" {
			return text.String(), nil
		}
	}
}

// block is a text of several lines. Of one that is too long it keeps enough for
// the engine to say so.
type block struct {
	strings.Builder

	begun bool
}

func (b *block) add(line string) {
	if b.Len() > workflow.MaxValueBytes {
		return
	}
	if b.begun {
		b.WriteByte('\n')
	}
	b.WriteString(line)
	b.begun = true
}

// brackets follows the nesting of a JSON object or array over its lines.
type brackets struct{ depth int }

// read takes a line; only one that begins an object or array counts as the
// first.
func (b *brackets) read(line string) {
	line = strings.TrimSpace(line)
	if b.depth == 0 && !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") {
		return
	}
	quoted, escaped := false, false // a JSON string does not go over lines
	for _, c := range []byte(line) {
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			b.depth++
		case c == '}' || c == ']':
			b.depth--
		}
	}
}

func (b *brackets) open() bool { return b.depth > 0 }
