package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piworkflows/runbundle"
)

const (
	// readSize is how much of a file is read at once.
	readSize = 64 << 10
	// maxLine bounds a line; a piece grows sixfold at most when it is escaped.
	maxLine = 8*maxPiece + 4096
)

// Piece is a piece of the output of one attempt.
type Piece struct {
	NodeID, AttemptID string
	At                time.Time
	// Stream is Stdout, Stderr or Agent.
	Stream string
	Text   string
	// Dropped says that the rest of the output of the attempt is not spooled. Such a
	// piece has no stream and no text.
	Dropped bool
}

// Reader reads the spool of a run while it grows. It does not wait. It is not
// safe for concurrent use.
type Reader struct {
	dir   string
	known map[string]bool // the files that were opened or are gone
	now   *opened
}

// opened is the file that is being read.
type opened struct {
	file *os.File
	head head
	line []byte // the beginning of one
	bad  bool   // it is no spool: the rest of it is passed over
}

// NewReader returns a reader of the spool of a run, which need not exist. Close
// it.
func NewReader(dir, runID string) (*Reader, error) {
	if err := runbundle.CheckRunID(runID); err != nil {
		return nil, err
	}
	return &Reader{dir: filepath.Join(dir, runID), known: map[string]bool{}}, nil
}

// Dir returns the folder to watch; it may not exist yet.
func (r *Reader) Dir() string { return r.dir }

// Next hands the pieces that came since the last call to take, until there are
// no more or take fails. What the run removed before it was read is passed over.
func (r *Reader) Next(take func(Piece) error) error {
	for {
		if r.now != nil {
			if err := r.now.read(take); err != nil {
				return err
			}
		}
		more, err := r.advance(take)
		if !more || err != nil {
			return err
		}
	}
}

// advance goes on to the next file, if there is one.
func (r *Reader) advance(take func(Piece) error) (more bool, err error) {
	name, err := r.next()
	if name == "" || err != nil {
		return false, err
	}
	// The writer goes on to another file once the last one is whole, so what came
	// since we read it is all of it.
	if r.now != nil {
		if err := r.now.read(take); err != nil {
			return false, err
		}
		r.Close()
	}
	r.known[name] = true
	file, err := os.Open(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open spooled output: %w", err)
	}
	r.now = &opened{file: file}
	return true, nil
}

// next returns the oldest file that was not opened yet.
func (r *Reader) next() (string, error) {
	names, err := r.files()
	at := slices.IndexFunc(names, func(name string) bool { return !r.known[name] })
	if at < 0 {
		return "", err
	}
	return names[at], nil
}

// Close closes the file that is open.
func (r *Reader) Close() {
	if r.now != nil {
		_ = r.now.file.Close() // only read
		r.now = nil
	}
}

// read hands on what the file has more than before.
func (o *opened) read(take func(Piece) error) error {
	buffer := make([]byte, readSize)
	for {
		n, err := o.file.Read(buffer)
		if err := o.feed(buffer[:n], take); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read spooled output: %w", err)
		}
	}
}

// feed takes more of the text of the file.
func (o *opened) feed(text []byte, take func(Piece) error) error {
	for len(text) > 0 && !o.bad {
		part, rest, ended := bytes.Cut(text, []byte("\n"))
		o.line = append(o.line, part...)
		if !ended {
			o.bad = len(o.line) > maxLine
			return nil
		}
		p, is := o.piece()
		o.line, text = o.line[:0], rest
		if !is {
			continue
		}
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
}

// piece decodes the line, unless it is the first one. A file that is not ours is
// passed over.
func (o *opened) piece() (p Piece, is bool) {
	if o.head.Schema == "" {
		o.bad = json.Unmarshal(o.line, &o.head) != nil || o.head.Schema != schema
		return p, false
	}
	var line piece
	err := json.Unmarshal(o.line, &line)
	at, badTime := time.Parse(time.RFC3339, line.At)
	o.bad = err != nil || badTime != nil
	return Piece{
		NodeID: o.head.NodeID, AttemptID: o.head.AttemptID, At: at, Stream: line.Stream, Text: line.Text, Dropped: line.Dropped,
	}, !o.bad
}

// Attempts returns the attempts whose output is spooled now, the oldest first.
func (r *Reader) Attempts() ([]string, error) {
	names, err := r.files()
	for i, name := range names {
		_, id, _ := strings.Cut(strings.TrimSuffix(name, suffix), "-")
		names[i] = id
	}
	return names, err
}

// files lists the files of the spool.
func (r *Reader) files() (names []string, err error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for spooled output: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
