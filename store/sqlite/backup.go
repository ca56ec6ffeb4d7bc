package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of the whole file, of all its projects, as it is at one
// moment; others go on reading and writing. The copy is one file with mode 0600. It is
// read again from end to end before it gets its name, so that what lies at path is
// whole. Nothing is overwritten: a *CopyExistsError; and no folder is made: a
// *NoFolderError. Otherwise the errors are those of the store and a *DamagedError.
func (s *Store) Backup(ctx context.Context, path string, progress Progress) (Contents, error) {
	if s.life.Err() != nil {
		return Contents{}, ErrClosed
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Contents{}, fmt.Errorf("back up: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return Contents{}, &CopyExistsError{Path: path}
	}
	n, err := s.backUp(ctx, path, progress)
	return n, named(path).explain("back up", err)
}

func (s *Store) backUp(ctx context.Context, path string, progress Progress) (n Contents, err error) {
	d, err := newDraft(path)
	if err != nil {
		return n, err
	}
	defer d.discard()
	var want Contents
	err = s.reader.do(ctx, func(c *conn) error {
		if want, err = c.contents(); err != nil {
			return err
		}
		return c.copyInto(ctx, s.o.toWrite(d.path), progress)
	})
	if err != nil {
		return n, err
	}
	if n, err = s.o.settled(d.path); err != nil {
		return n, err
	}
	if want.Version, want.Bytes = n.Version, n.Bytes; n != want {
		return n, &DamagedError{Path: d.path, Problem: fmt.Sprintf("the copy has %+v, the store %+v", n, want)}
	}
	if err := d.sync(s.o.Fault); err != nil {
		return n, err
	}
	return n, d.create()
}

// toWrite is the access to a copy that is being made.
func (o Options) toWrite(path string) access {
	return access{path: path, vfs: o.files, mode: "rw", busy: o.busy}
}

// settled makes a copy one that is all in its file, and verifies it.
func (o Options) settled(path string) (n Contents, err error) {
	c, err := openConn(o.toWrite(path))
	if err != nil {
		return n, err
	}
	defer c.close()
	if err := c.settle(); err != nil {
		return n, err
	}
	return c.verify(path)
}
