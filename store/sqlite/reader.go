package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// maxReaders is the number of connections that read. Each costs about a
// megabyte, and readers never wait for the writer.
const maxReaders = 4

// reader is a pool of connections that read. They are opened when they are
// first needed.
type reader struct {
	open func() (*conn, error)
	// free has a slot for each connection; nil stands for one not opened yet.
	free chan *conn
	// closed ends waits for a slot once the pool is closed.
	closed chan struct{}
}

func newReader(open func() (*conn, error)) *reader {
	r := &reader{open: open, free: make(chan *conn, maxReaders), closed: make(chan struct{})}
	for range maxReaders {
		r.free <- nil
	}
	return r
}

// close waits for reads that are under way.
func (r *reader) close() {
	close(r.closed)
	for range maxReaders {
		if c := <-r.free; c != nil {
			c.close()
		}
	}
}

// do runs f in one read transaction: all that it reads is of one moment. The
// end of ctx interrupts it.
func (r *reader) do(ctx context.Context, f func(*conn) error) error {
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer func() { r.free <- c }()
	if c == nil {
		if c, err = r.open(); err != nil {
			return err
		}
	}
	c.db.SetInterrupt(ctx)
	err = snapshot(c, f)
	c.db.SetInterrupt(context.Background())
	if undo := c.rollback(); err == nil {
		err = undo
	}
	if errors.Is(err, sqlite3.INTERRUPT) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func snapshot(c *conn, f func(*conn) error) error {
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	return f(c)
}

func (r *reader) take(ctx context.Context) (*conn, error) {
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case c := <-r.free:
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.closed:
		return nil, ErrClosed
	}
}

// check opens the first connection of a read-only store and looks at what the
// file is.
func (r *reader) check(path string) error {
	err := r.do(context.Background(), func(c *conn) error {
		found, err := schemaVersion(c, path)
		if err == nil && found == 0 {
			return &ForeignStoreError{Path: path}
		}
		return err
	})
	if err != nil {
		return err
	}
	_ = restrict(path) // what others may read is for those who write to care about
	return nil
}
