package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"piworkflows/clock"
	"piworkflows/internal/durable"
)

// openWriter opens the connection that writes.
func openWriter(o Options) (*conn, error) {
	c, err := openConn(access{path: o.Path, vfs: o.files, mode: "rw", busy: o.busy})
	if err != nil {
		return nil, err
	}
	if err := patiently(o.busy, func() error { return setUp(c, o) }); err != nil {
		c.leaveUntouched()
		c.close()
		return nil, err
	}
	return c, nil
}

// patiently repeats f while others keep the file busy. Connections wait by
// themselves, except where SQLite fears a deadlock: while a file that is being
// made becomes one with a write-ahead log, and while the last one closes it.
func patiently(patience time.Duration, f func() error) error {
	const pause = 5 * time.Millisecond
	others := clock.System() // they let go in real time
	deadline := others.Now().Add(patience)
	for {
		err := f()
		if !errors.Is(err, sqlite3.BUSY) || others.Now().After(deadline) {
			return err
		}
		_ = clock.Sleep(context.Background(), others, pause) // its context never ends
	}
}

func setUp(c *conn, o Options) error {
	// FULL fsyncs the write-ahead log at every commit, except where begin says
	// otherwise; the journal does not keep the size of its worst day. Pages that
	// many passes change are copied out of it once in 16 MiB. A cache of 4 MiB
	// holds the inner pages of some million resources; SQLite looks through all of it
	// at each commit.
	c.level = synced
	err := c.script(`PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;
		PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -4096`)
	if err != nil {
		return err
	}
	if o.MaxPages > 0 {
		if err := c.script(fmt.Sprintf("PRAGMA max_page_count = %d", o.MaxPages)); err != nil {
			return err
		}
	}
	if err := migrate(c, o.Path, o.Clock.Now()); err != nil {
		return err
	}
	return restrict(o.Path)
}

// makeFile makes the folders and an empty file that nobody else may read.
func makeFile(path string) error {
	if err := durable.OS().MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	_ = file.Close() // nothing was written
	return durable.OS().SyncDir(filepath.Dir(path))
}

// restrict sets the mode of the file and of those that SQLite keeps beside it.
// They exist as long as a connection is open.
func restrict(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Chmod(path+suffix, 0o600)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restrict store: %w", err)
		}
	}
	return nil
}

func openReader(o Options) (*conn, error) {
	mode := "rw" // a reader may have to make the files of the write-ahead log
	if o.ReadOnly {
		mode = "ro"
	}
	c, err := openConn(access{path: o.Path, vfs: o.files, mode: mode, busy: o.busy})
	if err != nil {
		return nil, err
	}
	if err := c.script("PRAGMA query_only = ON"); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}
