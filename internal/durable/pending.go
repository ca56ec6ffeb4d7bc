package durable

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// writeSize is how many bytes of new content are collected for one write.
const writeSize = 64 << 10

// writers keeps the space for that: a short run makes five small files.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeSize) }}

// Pending is the content of a file that is being made. Whoever began it places or
// discards it. Its methods must not be called concurrently.
type Pending struct {
	fs   *FS
	file *os.File
	path string
	name string // that it has until it is placed
	over bool   // placed or discarded
}

// Prepare writes new content for the file at path, beside it under the name
// `<name>.<pid>.<uuid>.tmp` (spec: run bundle format, layout). It takes its place
// with [Pending.Place]; if it is to last, it is synced before. After an error
// nothing is left.
func (f *FS) Prepare(path string, content func(w io.Writer) error) (*Pending, error) {
	return f.begin(path, fmt.Sprintf("%s.%d.%s.tmp", path, os.Getpid(), newUUID()), content)
}

// Create is Prepare for a file that has its name from the beginning, and must not
// be there yet. It is for files at which nobody looks before another one is in
// its place.
func (f *FS) Create(path string, content func(w io.Writer) error) (*Pending, error) {
	return f.begin(path, path, content)
}

func (f *FS) begin(path, name string, content func(w io.Writer) error) (*Pending, error) {
	p := &Pending{fs: f, path: path, name: name}
	err := f.do(OpCreate, path, func() (err error) {
		p.file, err = open(name, os.O_EXCL)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.fill(content); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	return p, nil
}

// fill writes the content, collected into large pieces.
func (p *Pending) fill(content func(w io.Writer) error) error {
	w := writers.Get().(*bufio.Writer) //nolint:forcetypeassert // the pool has nothing else
	w.Reset(p)
	defer func() {
		w.Reset(nil) // also forgets an error
		writers.Put(w)
	}()
	if err := content(w); err != nil {
		return err
	}
	return w.Flush() //nolint:wrapcheck // an fs.PathError says enough
}

// Write appends to the content.
func (p *Pending) Write(data []byte) (int, error) { return p.fs.write(p.file, p.path, data) }

// Place makes the content that of the file at the path, whether it exists or
// not; a reader finds the old or the new content, never a part. It lasts once
// it was synced before and the folder is synced after. On an error the old
// content is in place and the new one is discarded.
func (p *Pending) Place() error {
	if err := p.file.Close(); err != nil {
		return errors.Join(err, p.discard())
	}
	if p.name != p.path {
		err := p.fs.do(OpRename, p.path, func() error { return os.Rename(p.name, p.path) })
		if err != nil {
			return errors.Join(err, p.discard())
		}
	}
	p.over = true
	return nil
}

// Discard removes the content, unless it is placed; a second call does nothing.
func (p *Pending) Discard() error {
	if p.over {
		return nil
	}
	return errors.Join(p.file.Close(), p.discard())
}

func (p *Pending) discard() error {
	p.over = true
	return p.fs.do(OpRemove, p.path, func() error { return os.Remove(p.name) })
}

func (p *Pending) due() (op Op, path string, ok bool) { return OpSync, p.path, true }

func (p *Pending) sync() error {
	return p.file.Sync() //nolint:wrapcheck // an fs.PathError says enough
}

func (p *Pending) done(err error) error { return err }

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
