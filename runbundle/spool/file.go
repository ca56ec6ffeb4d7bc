package spool

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/secret"
)

const (
	schema = "pi-workflows.spool.v1"
	suffix = ".ndjson"
	// maxPiece bounds the bytes of output in one line, so that readers need little
	// memory.
	maxPiece = 32 << 10
)

// The streams of output.
const (
	// Stdout and Stderr are those of a command.
	Stdout = "stdout"
	Stderr = "stderr"
	// Agent is what an agent says while it works.
	Agent = "agent"
)

// head is the first line of a file.
type head struct {
	Schema    string `json:"schema"`
	RunID     string `json:"runId"`
	NodeID    string `json:"nodeId"`
	AttemptID string `json:"attemptId"`
}

// piece is each later line.
type piece struct {
	At     string `json:"at"`
	Stream string `json:"stream,omitempty"`
	Text   string `json:"text,omitempty"`
	// Dropped says that the file is full and the rest was dropped.
	Dropped bool `json:"dropped,omitempty"`
}

// File is the spool of one attempt. It is safe for concurrent use and never
// fails: what cannot be spooled is logged once and dropped.
type File struct {
	spool *Spool
	head  head

	mu     sync.Mutex
	file   *durable.AppendFile // nil until something is printed
	full   bool                // nothing more is kept
	closed bool                // nothing more is taken
	// begun is the beginning of a character, or of what may be a secret, whose end
	// has not come yet.
	begun map[string][]byte
}

// Write adds output of a stream. Bytes that are not UTF-8 become U+FFFD.
func (f *File) Write(stream string, chunk []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.full && f.spool.o.Tell == nil {
		return
	}
	text := slices.Concat(f.begun[stream], chunk)
	whole := wholeCharacters(text)
	whole -= secret.Begun(string(text[:whole]))
	f.keep(stream, text[whole:])
	for text = []byte(secret.Redact(string(text[:whole]))); len(text) > 0; {
		end := min(len(text), maxPiece)
		if end < len(text) {
			end = max(wholeCharacters(text[:end]), 1)
		}
		f.print(stream, string(text[:end]))
		text = text[end:]
	}
}

// print tells of a piece, and adds it while there is room.
func (f *File) print(stream, text string) {
	now := f.spool.o.Clock.Now()
	if tell := f.spool.o.Tell; tell != nil {
		tell(Piece{
			NodeID: f.head.NodeID, AttemptID: f.head.AttemptID, At: now, Stream: stream, Text: strings.ToValidUTF8(text, "\uFFFD"),
		})
	}
	if !f.full {
		f.add(piece{At: clock.Format(now), Stream: stream, Text: text})
	}
}

// keep remembers the beginning of a character, or of a secret.
func (f *File) keep(stream string, begun []byte) {
	if f.begun == nil {
		f.begun = map[string][]byte{}
	}
	f.begun[stream] = bytes.Clone(begun)
}

// wholeCharacters returns the length of a text without a character at its end
// that may still become whole.
func wholeCharacters(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if utf8.FullRune(text[at:]) {
				return len(text)
			}
			return at
		}
	}
	return len(text)
}

// add writes one line, or the last one if the file is full.
func (f *File) add(p piece) {
	line, err := lineOf(p)
	if err == nil {
		err = f.open()
	}
	if err == nil && f.file.Size()+int64(len(line)) > f.spool.o.Bytes {
		f.full = true
		line, err = lineOf(piece{At: p.At, Dropped: true})
	}
	if err == nil {
		err = f.file.Append(line)
	}
	if err != nil {
		f.full = true
		f.spool.tell("write, the rest of the attempt is dropped", err)
	}
}

func (f *File) open() error {
	if f.file != nil {
		return nil
	}
	line, err := lineOf(f.head)
	if err != nil {
		return err
	}
	if f.file, err = f.spool.create(f.head.AttemptID); err != nil {
		return err
	}
	return f.file.Append(line)
}

func lineOf(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return line.Bytes(), err
}

// Stream returns a writer for one stream; it always takes everything.
func (f *File) Stream(name string) io.Writer { return stream{f, name} }

type stream struct {
	file *File
	name string
}

// Write is io.Writer.
func (s stream) Write(chunk []byte) (int, error) {
	s.file.Write(s.name, chunk)
	return len(chunk), nil
}

// Close ends the file; later output is dropped.
func (f *File) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{Stdout, Stderr, Agent} {
		if begun := f.begun[name]; len(begun) > 0 && !f.closed {
			f.print(name, secret.Redact(string(begun)))
		}
	}
	f.closed = true
	if f.file != nil {
		f.spool.tell("close", f.file.Close())
		f.file = nil
	}
}
