package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"piworkflows/clock"
	"piworkflows/controller"
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
	// hasWork says that the last claim found something.
	hasWork atomic.Bool
	close   func() error
}

var (
	_ controller.Store         = (*Store)(nil)
	_ controller.FinishClaimer = (*Store)(nil)
	_ runqueue.Store           = (*Store)(nil)
)

// Open opens the store, and makes it if it is missing and not read-only. What
// dead processes had claimed is free when it returns. A file that is not ours
// is a *ForeignStoreError, one of a newer program a *VersionError, one of a
// build that was never released a *SchemaError; none is touched. A missing file,
// read-only, is an fs.ErrNotExist. Other errors are *BusyError and *DiskError.
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
	if err := makeFile(s.o.Path); err != nil {
		return err
	}
	at, err := placeOf(s.o.Path)
	if err != nil {
		return err
	}
	c, err := openWriter(s.o)
	if err != nil {
		return err
	}
	s.writer = newWriter(c, s.commit, s.o.diskError, s.alone)
	if s.owner, err = register(ctx, s, at); err != nil {
		return err
	}
	return s.reapAll(ctx)
}

func (s *Store) shutdown() error {
	s.end(ErrClosed)
	s.watch.close()
	s.reader.close()
	defer forgetFiles(s.o.files)
	if s.writer == nil {
		return nil
	}
	defer s.writer.conn.close()
	s.writer.stop()
	if s.owner == nil {
		return nil
	}
	return s.owner.leave(s)
}
