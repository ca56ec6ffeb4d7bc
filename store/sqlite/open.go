package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/internal/durable"
	"piworkflows/runqueue"
)

// Options says which store to open, and how.
type Options struct {
	// Path is the file; see Path. Missing folders are made with mode 0700, the
	// file with 0600.
	Path string
	// Scope is the project whose resources are seen; see Scope. Projects that
	// share a file never see each other.
	Scope string
	// Clock measures leases and delays; nil is the machine's clock.
	Clock clock.Clock
	// Logger hears of failures that no caller can be told; nil is silent.
	Logger *slog.Logger
	// ReadOnly opens an existing file without a trace in it. Every write is a
	// *DiskError then.
	ReadOnly bool
	// MaxPages bounds the size of the file, in pages of 4 KiB; zero is no
	// bound. A write beyond it finds the disk full.
	MaxPages int
	// Fault, for tests, is called before SQLite does open, write, sync or
	// truncate with one of its files; an error of it is the error of the disk.
	// It is called by several goroutines.
	Fault func(op, path string) error

	// busy is the busy timeout; tests shorten it.
	busy time.Duration
	// files names the file layer of this store.
	files string
}

// complete fills in the defaults.
func (o Options) complete() (Options, error) {
	if !scopePattern.MatchString(o.Scope) {
		return o, fmt.Errorf("open store: scope %.80q is not %d hex digits: use Scope", o.Scope, scopeDigits)
	}
	var err error
	if o.Path, err = filepath.Abs(o.Path); err != nil {
		return o, fmt.Errorf("open store: %w", err)
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.busy == 0 {
		o.busy = busyTimeout
	}
	return o, nil
}

// Store is an open store. It is safe for concurrent use, and several stores, of
// this and of other processes, may be open over one file.
type Store struct {
	o        Options
	instance string
	// life ends, with ErrClosed as its cause, when Close begins.
	life   context.Context
	end    context.CancelCauseFunc
	writer *writer // nil if read-only
	reader *reader
	owner  *owner // nil if read-only
	commit *signal
	watch  *watcher
	close  func() error
}

var (
	_ controller.Store = (*Store)(nil)
	_ runqueue.Store   = (*Store)(nil)
)

// Open opens the store, and makes it if it is missing and not read-only. What
// dead processes had claimed is free when it returns. A file that is not ours
// is a *ForeignStoreError, one of a newer program a *VersionError; neither is
// touched. A missing file, read-only, is an fs.ErrNotExist. Other errors are
// *BusyError and *DiskError.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	err = identify(o.Path)
	if errors.Is(err, fs.ErrNotExist) && !o.ReadOnly {
		err = nil
	}
	if err != nil {
		return nil, o.explain("open store", err)
	}
	s := &Store{o: o, instance: uuid.NewString(), commit: newSignal()}
	s.o.files = "pi-workflows-" + s.instance
	if err := registerFiles(s.o.files, o.Fault); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.close = sync.OnceValue(s.shutdown)
	s.reader = newReader(func() (*conn, error) { return openReader(s.o) })
	s.watch = newWatcher(s.reader.open, s.commit, o.Logger)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(o.explain("open store", err), s.Close())
	}
	return s, nil
}

// Instance names this store among those that share the file. Its claims carry
// the name.
func (s *Store) Instance() string { return s.instance }

// Close gives back what this store has claimed and ends it. Operations that
// wait end with ErrClosed. A second call waits for the first.
func (s *Store) Close() error { return s.close() }

func (s *Store) start(ctx context.Context) error {
	if s.o.ReadOnly {
		return patiently(s.o.busy, func() error { return s.reader.check(s.o.Path) })
	}
	c, err := openWriter(s.o)
	if err != nil {
		return err
	}
	s.writer = newWriter(c, s.commit)
	if s.owner, err = register(ctx, s); err != nil {
		return err
	}
	return s.reapAll(ctx)
}

func (s *Store) shutdown() error {
	s.end(ErrClosed)
	var err error
	if s.owner != nil {
		err = s.owner.leave(s)
	}
	s.watch.close()
	s.reader.close()
	if s.writer != nil {
		s.writer.close()
	}
	forgetFiles(s.o.files)
	return err
}

// openWriter makes the file, if need be, and opens the connection that writes.
func openWriter(o Options) (*conn, error) {
	if err := makeFile(o.Path); err != nil {
		return nil, err
	}
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
	// FULL fsyncs the write-ahead log at every commit; the journal does not keep
	// the size of its worst day.
	err := c.script("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864")
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
	return nil
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
