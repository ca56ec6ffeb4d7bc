package agent

import (
	"bytes"
	"context"
	"io"
	"strings"

	"piworkflows/workflow"
)

// chunk is how much is read at once.
const chunk = 4096

// input is a reader that a context can interrupt.
type input interface {
	// read returns what is there next, not nothing and a nil error.
	read(ctx context.Context) ([]byte, error)
}

// lines cuts an input into lines. What was read beyond a line is kept.
type lines struct {
	from input
	rest []byte
}

// next returns the next line without its end; the last one may have none. Of a
// line that is too long it keeps enough for the engine to say so.
func (l *lines) next(ctx context.Context) (string, error) {
	var line []byte
	for {
		head, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if len(line) <= workflow.MaxValueBytes {
			line = append(line, head...)
		}
		l.rest = rest
		if ended {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		more, err := l.from.read(ctx)
		l.rest = more
		if len(more) > 0 {
			continue
		}
		if err == io.EOF && len(line) > 0 { //nolint:errorlint // an input returns it bare
			return string(line), nil
		}
		if err != nil {
			l.rest = line // for whoever asks next
			return "", err
		}
	}
}

// patient is an input over a reader that nothing interrupts: a goroutine reads,
// and whoever comes next gets what it brings.
type patient struct {
	from    io.Reader
	pending chan arrival
}

type arrival struct {
	bytes []byte
	err   error
}

func (p *patient) read(ctx context.Context) ([]byte, error) {
	if p.pending == nil {
		pending := make(chan arrival, 1)
		go func() {
			buffer := make([]byte, chunk)
			n, err := p.from.Read(buffer)
			pending <- arrival{buffer[:n], err}
		}()
		p.pending = pending
	}
	select {
	case got := <-p.pending:
		p.pending = nil
		return got.bytes, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
