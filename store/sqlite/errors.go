package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"

	"piworkflows/internal/durable"
	"piworkflows/internal/limit"
)

// ErrClosed is the error of every operation on a store that was closed.
var ErrClosed = errors.New("the store is closed")

// ForeignStoreError says that the file is not a store of ours. It was not
// touched.
type ForeignStoreError struct {
	Path string
	// SchemaID is how the other implementation names its schema, if it does.
	SchemaID string
}

func (e *ForeignStoreError) Error() string {
	what := "is not a store of this program"
	if e.SchemaID != "" {
		what = fmt.Sprintf("is a store of another implementation (%.80s)", e.SchemaID)
	}
	return fmt.Sprintf("%s %s and was left untouched: name another file (for a store: --store), or move this one away", e.Path, what)
}

// ErrorCode is the stable code of the error.
func (*ForeignStoreError) ErrorCode() string { return "foreign_store" }

// VersionError says that the file was written by a newer program. It was not
// touched.
type VersionError struct {
	Path string
	// Version is the one of the file, Known the newest that this program knows.
	Version, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has store version %d, this program knows up to %d, and was left untouched: "+
		"use the newer program, or name another file with --store", e.Path, e.Version, e.Known)
}

// ErrorCode is the stable code of the error.
func (*VersionError) ErrorCode() string { return "store_version" }

// SchemaError says that a build of this program that was never released made the
// file: it has the version of this one, and other tables. It was not touched.
type SchemaError struct {
	Path string
	// Version is the one that both claim.
	Version int
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s was made by another build of this program, whose store version %d has other tables, and was "+
		"left untouched: use that build, or move the file away and apply the resources anew, or name another file with --store",
		e.Path, e.Version)
}

// ErrorCode is the stable code of the error.
func (*SchemaError) ErrorCode() string { return "store_schema" }

// BusyError says that other processes held the locks of the file for the whole
// busy timeout. Nothing was written.
type BusyError struct {
	// Op is what was tried.
	Op string
	// Waited is the busy timeout.
	Waited time.Duration
	Err    error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another process kept the store busy for %s: try again, or see who has it open", e.Op, e.Waited)
}

// Unwrap returns the error of SQLite.
func (e *BusyError) Unwrap() error { return e.Err }

// Temporary says that it may go well the next time.
func (*BusyError) Temporary() bool { return true }

// ErrorCode is the stable code of the error.
func (*BusyError) ErrorCode() string { return "store_busy" }

// DiskError says that the disk refused. Nothing was written, and the store goes
// on working once the cause is mended.
type DiskError struct {
	// Op is what was tried, Path the file.
	Op, Path string
	// Full says that there is no space, ReadOnly that writing is not allowed;
	// neither says that the disk or the file is damaged.
	Full, ReadOnly bool
	Err            error
}

func (e *DiskError) Error() string {
	why := "the disk failed: check it, and bring back a backup if the file is damaged"
	switch {
	case e.Full:
		why = "no space left: free some, the store goes on by itself"
	case e.ReadOnly:
		why = "writing is not allowed: check the permissions and how the disk is mounted, or name another file with --store"
	}
	return fmt.Sprintf("%s in %s: %s (%v)", e.Op, e.Path, why, e.Err)
}

// Unwrap returns the error of SQLite or the operating system.
func (e *DiskError) Unwrap() error { return e.Err }

// Temporary says that it goes well once there is space.
func (e *DiskError) Temporary() bool { return e.Full }

// ErrorCode is the stable code of the error.
func (e *DiskError) ErrorCode() string {
	switch {
	case e.Full:
		return "disk_full"
	case e.ReadOnly:
		return "read_only"
	}
	return "disk_error"
}

// CursorError refuses a cursor or continuation that this store did not give.
type CursorError struct{ Cursor string }

func (e *CursorError) Error() string {
	return fmt.Sprintf("cursor %s is not one of this store: begin without one", strconv.Quote(limit.Text(e.Cursor, 80)))
}

// ErrorCode is the stable code of the error.
func (*CursorError) ErrorCode() string { return "invalid_cursor" }

// errReadOnly is the cause of a write to a store that was opened for reading.
var errReadOnly = errors.New("the store was opened for reading only")

// explain turns an error of SQLite or the file system into a typed one. Errors
// of ours pass through.
func (o Options) explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED), errors.Is(err, sqlite3.PROTOCOL):
		return &BusyError{Op: op, Waited: o.busy, Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no store: apply a resource first, or name another file with --store: %w", op, err)
	case errors.Is(err, sqlite3.NOTADB):
		return &ForeignStoreError{Path: o.Path}
	}
	disk := &DiskError{Op: op, Path: o.Path, Err: err}
	disk.Full = errors.Is(err, sqlite3.FULL) || durable.IsDiskFull(err)
	disk.ReadOnly = !disk.Full &&
		(errors.Is(err, sqlite3.READONLY) || errors.Is(err, errReadOnly) || durable.IsReadOnly(err))
	if disk.Full || disk.ReadOnly || isDisk(err) {
		return disk
	}
	if code := sqlite3.ErrorCode(0); errors.As(err, &code) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return err
}

func isDisk(err error) bool {
	return errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.CANTOPEN) || errors.Is(err, sqlite3.CORRUPT)
}
