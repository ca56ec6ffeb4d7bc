package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// Contents says what is in a file of a store, of all its projects.
type Contents struct {
	// Version is that of the schema, Bytes the size of the file.
	Version int
	Bytes   int64
	// The rows.
	Resources, Effects, Runs, Events int64
}

// Progress hears how many pages of a copy are made; it must return quickly.
type Progress func(done, total int)

// copyStep is how many pages are copied between two looks at the context.
const copyStep = 1024

// copyInto copies the database of a connection into an empty file. The caller has
// begun to read, so that what is copied is of one moment whatever others write.
func (c *conn) copyInto(ctx context.Context, to access, progress Progress) (err error) {
	b, err := c.db.BackupInit("main", to.uri())
	if err != nil {
		return err //nolint:wrapcheck // the caller explains it
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for done := false; !done && err == nil; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, err = b.Step(copyStep)
		if progress != nil && err == nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
	}
	return err //nolint:wrapcheck // the caller explains it
}

// contents counts the rows.
func (c *conn) contents() (n Contents, err error) {
	for _, table := range []struct {
		name string
		rows *int64
	}{
		{"resources", &n.Resources}, {"effects", &n.Effects}, {"workflow_run_queue", &n.Runs}, {"events", &n.Events},
	} {
		if _, err := c.first("SELECT count(*) FROM "+table.name, nil, table.rows); err != nil {
			return n, err
		}
	}
	return n, nil
}

// verify makes sure that a file is whole and ours, and says what is in it.
func (c *conn) verify(path string) (n Contents, err error) {
	found, err := schemaVersion(c, path)
	if err == nil && found == 0 {
		err = &ForeignStoreError{Path: path}
	}
	if err != nil {
		return n, err
	}
	if err := c.sound(path, "integrity_check"); err != nil {
		return n, err
	}
	if err := c.indexed(path); err != nil {
		return n, err
	}
	if n, err = c.contents(); err != nil {
		return n, err
	}
	n.Version = found
	info, err := os.Stat(path)
	if err != nil {
		return n, fmt.Errorf("measure %s: %w", path, err)
	}
	n.Bytes = info.Size()
	return n, nil
}

// sound asks SQLite whether its file is.
func (c *conn) sound(path, check string) error {
	var word string
	_, err := c.first("PRAGMA "+check+"(1)", nil, &word)
	if errors.Is(err, sqlite3.CORRUPT) {
		return &DamagedError{Path: path, Problem: err.Error()}
	}
	if err != nil {
		return err
	}
	if word != "ok" {
		return &DamagedError{Path: path, Problem: word}
	}
	return nil
}

// indexed makes sure that the index of events by resource agrees with the events, which
// SQLite does for its own.
func (c *conn) indexed(path string) error {
	var missing, dangling int64
	_, err := c.first(`SELECT
			(SELECT count(*) FROM events WHERE seq <= (SELECT seq FROM event_index_end)) -
			(SELECT count(*) FROM event_index),
			(SELECT count(*) FROM event_index i LEFT JOIN events e USING (controller, resource_key, seq) WHERE e.seq IS NULL)`,
		nil, &missing, &dangling)
	if err == nil && (missing != 0 || dangling != 0) {
		err = &DamagedError{Path: path, Problem: "the index of events does not agree with the events"}
	}
	return err
}

// Verify reads a copy of a store from its first byte to its last, and leaves no
// trace. It is a *NoFileError if there is none, a *ForeignStoreError, a *VersionError,
// a *SchemaError or a *DamagedError if that is no copy to rely on, and a *NoCopyError if the file is a
// store in use.
func Verify(path string) (Contents, error) {
	err := identify(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Contents{}, &NoFileError{Path: path}
	}
	if err != nil {
		return Contents{}, named(path).explain("verify", err)
	}
	c, err := openCopy(path)
	if err != nil {
		return Contents{}, err
	}
	defer c.close()
	n, err := c.verify(path)
	return n, unreadable(path, err)
}

// unreadable makes a *DamagedError of what SQLite cannot make sense of.
func unreadable(path string, err error) error {
	if errors.Is(err, sqlite3.CORRUPT) {
		return &DamagedError{Path: path, Problem: err.Error()}
	}
	return named(path).explain("verify", err)
}

// named lends a path to the errors about it.
func named(path string) Options { return Options{Path: path, busy: busyTimeout} }

// openCopy opens a copy, which nobody writes to.
func openCopy(path string) (*conn, error) {
	if whole, err := alone(path); err != nil || !whole {
		return nil, errors.Join(err, &NoCopyError{Path: path})
	}
	c, err := openConn(access{path: path, mode: "ro", immutable: true})
	return c, unreadable(path, err)
}

// alone reports whether all of a database is in its file: a store in use has more
// beside it.
func alone(path string) (bool, error) {
	for _, suffix := range []string{"-wal", "-journal"} {
		info, err := os.Stat(path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, fmt.Errorf("look beside %s: %w", path, err)
		case info.Size() > 0:
			return false, nil
		}
	}
	return true, nil
}

// settle makes the database one that is all in its file: whoever opens it makes
// nothing beside it.
func (c *conn) settle() error {
	var mode string
	if _, err := c.first("PRAGMA journal_mode = DELETE", nil, &mode); err != nil {
		return err
	}
	if mode != "delete" {
		return fmt.Errorf("the copy keeps a journal of kind %s", mode)
	}
	return nil
}
