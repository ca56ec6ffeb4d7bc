// Package durable is the file layer under run bundles and the host: every
// change of files goes through it, in an order that survives a crash, and
// through a hook by which tests make any of these operations fail.
//
// It needs the standard library only. The usual library for atomic files,
// renameio, does not build on Windows, and has no place for the hook.
//
// Files are made with mode 0600 and folders with 0700.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"piworkflows/internal/crashpoint"
)

// Op names one operation on a file, as the hook sees it.
type Op string

// The operations. The path that comes with an operation is the file that the
// caller named: operations on a temporary file carry the name of the file that
// it is to become, so that traces of operations are the same in every run.
const (
	OpMkdir    Op = "mkdir"
	OpOpen     Op = "open"     // for appending; makes the file when it is missing
	OpCreate   Op = "create"   // of a temporary file
	OpWrite    Op = "write"    // to a temporary file, or at the end of an append file
	OpSync     Op = "sync"     // of a file's content
	OpRename   Op = "rename"   // over the path
	OpLink     Op = "link"     // of a temporary file to the path, if that is free
	OpSyncDir  Op = "sync-dir" // of a folder's entries
	OpRemove   Op = "remove"
	OpTruncate Op = "truncate"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// FS does operations on files of the operating system. The zero value is ready
// to use and the same as [OS]. It is safe for concurrent use if its hook is.
type FS struct {
	hook    func(op Op, path string) error
	written *atomic.Int64
}

// OS returns the plain file layer.
func OS() *FS { return &FS{} }

// WithHook returns a file layer that calls hook before each operation. An error
// from it is returned, as an [*fs.PathError], in place of doing the operation;
// a [*TornWrite] lets a write happen in part. Cleaning up after an error
// consists of operations too: a hook that fails them all from some point on
// leaves the files as a crash at that point would.
func WithHook(hook func(op Op, path string) error) *FS { return &FS{hook: hook} }

// Counting returns a file layer that does the same and adds the bytes of each
// write to n.
func (f *FS) Counting(n *atomic.Int64) *FS { return &FS{hook: f.hook, written: n} }

// TornWrite is an error for hooks: the write of which it is returned stores
// that many bytes and then fails with Err.
type TornWrite struct { //nolint:errname // hooks return it for what it makes happen
	Bytes int
	Err   error
}

// Error says how far the write came.
func (e *TornWrite) Error() string { return fmt.Sprintf("after %d bytes: %v", e.Bytes, e.Err) }

// Unwrap returns Err.
func (e *TornWrite) Unwrap() error { return e.Err }

// do runs one operation, unless the hook objects.
func (f *FS) do(op Op, path string, operation func() error) error {
	if err := f.ask(op, path); err != nil {
		return err
	}
	return reached(op, operation())
}

// ask returns the objection of the hook.
func (f *FS) ask(op Op, path string) error {
	if f.hook == nil {
		return nil
	}
	if err := f.hook(op, path); err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

// reached tells the crash tests of an operation that went well.
func reached(op Op, err error) error {
	if err == nil {
		crashpoint.Reached(string(op))
	}
	return err
}

// open opens a file for writing and makes it if the flag lets it.
func open(path string, flag int) (*os.File, error) {
	//nolint:wrapcheck // an fs.PathError says enough
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, fileMode)
}

// write appends data to the open file in one call and returns how much of it
// was stored. The name is the one for the hook.
func (f *FS) write(file *os.File, name string, data []byte) (written int, err error) {
	err = f.do(OpWrite, name, func() (err error) {
		written, err = file.Write(data)
		return err //nolint:wrapcheck // an fs.PathError says enough
	})
	if torn, ok := errors.AsType[*TornWrite](err); ok {
		written, _ = file.Write(data[:min(torn.Bytes, len(data))])
	}
	f.count(written)
	return written, err
}

func (f *FS) count(written int) {
	if f.written != nil {
		f.written.Add(int64(written))
	}
}

// Mkdir makes one folder, which must not exist (fs.ErrExist), in a folder that
// does. It lasts once the parent has been synced with [FS.SyncDir].
func (f *FS) Mkdir(path string) error {
	return f.do(OpMkdir, path, func() error { return os.Mkdir(path, dirMode) })
}

// MkdirAll makes a folder and its missing parents, and syncs the parent of each
// folder that it made. A folder that exists is left as it is.
func (f *FS) MkdirAll(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := f.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := f.Mkdir(path); err != nil {
		if info, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
			return nil // somebody else made it at the same time
		}
		return err
	}
	return f.SyncDir(filepath.Dir(path))
}

// Rename gives a file a new name and replaces what has that name. It lasts once
// both folders have been synced. On Windows it fails while another process has
// the file open.
func (f *FS) Rename(oldPath, newPath string) error {
	return f.do(OpRename, newPath, func() error { return os.Rename(oldPath, newPath) })
}

// Remove removes one file or empty folder.
func (f *FS) Remove(path string) error {
	return f.do(OpRemove, path, func() error { return os.Remove(path) })
}

// RemoveAll removes a folder with all it holds, as one operation for the hook.
// A missing path is not an error.
func (f *FS) RemoveAll(path string) error {
	return f.do(OpRemove, path, func() error { return os.RemoveAll(path) })
}

// Truncate cuts a file to size bytes.
func (f *FS) Truncate(path string, size int64) error {
	return f.do(OpTruncate, path, func() error { return os.Truncate(path, size) })
}
