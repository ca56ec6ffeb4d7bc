package durable

import (
	"errors"
	"fmt"
	"os"
)

// AppendFile is a file that only grows, record by record. It has one owner: its
// methods must not be called concurrently, and no other process may write to
// the file.
type AppendFile struct {
	fs   *FS
	file *os.File
	path string
	size int64
	torn bool  // a part of a record may stand after size
	lost error // the sync that failed: what is on the disk is unknown
	// lasting is the size at the last sync; -1 if nobody knows, as in a file that
	// somebody else wrote.
	lasting int64
}

// OpenAppend opens a file for appending and makes it when it is missing; a new
// file lasts once its folder has been synced. The caller closes it.
func (f *FS) OpenAppend(path string) (*AppendFile, error) {
	var file *os.File
	err := f.do(OpOpen, path, func() (err error) {
		file, err = open(path, os.O_APPEND)
		return err
	})
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	a := &AppendFile{fs: f, file: file, path: path, size: info.Size()}
	if a.size > 0 {
		a.lasting = -1
	}
	return a, nil
}

// Append adds one record with one write call. After an error the file is as
// before: what was stored of the record is cut off again. If even that fails
// the next Append cuts it off first, and fails as long as it cannot.
func (a *AppendFile) Append(record []byte) error {
	if a.lost != nil {
		return a.lost
	}
	if a.torn {
		if err := a.cut(); err != nil {
			return err
		}
	}
	written, err := a.fs.write(a.file, a.path, record)
	if err == nil {
		a.size += int64(written)
		return nil
	}
	a.torn = true
	return errors.Join(err, a.cut())
}

// cut takes off what stands after the last whole record.
func (a *AppendFile) cut() error {
	// By path, because Windows does not truncate a file opened for appending.
	if err := a.fs.Truncate(a.path, a.size); err != nil {
		return fmt.Errorf("cut off a torn record: %w", err)
	}
	a.torn = false
	return nil
}

// Sync makes all that was appended last; it does nothing if all of it does.
// When it fails the kernel may have dropped the data and would report success
// the next time; so after an error every later Sync and Append returns it too,
// and the owner must open the file again and read what is there.
func (a *AppendFile) Sync() error { return a.fs.Sync(a) }

func (a *AppendFile) due() (op Op, path string, ok bool) {
	return OpSync, a.path, a.lost == nil && a.lasting != a.size
}

func (a *AppendFile) sync() error {
	return a.file.Sync() //nolint:wrapcheck // an fs.PathError says enough
}

func (a *AppendFile) done(err error) error {
	switch {
	case a.lost != nil:
	case err != nil:
		a.lost = fmt.Errorf("sync failed, open the file again before going on: %w", err)
	default:
		a.lasting = a.size
	}
	return a.lost
}

// Lasts reports whether all that was appended has been synced.
func (a *AppendFile) Lasts() bool { return a.lost == nil && a.lasting == a.size }

// Size returns the size in bytes, whole records only.
func (a *AppendFile) Size() int64 { return a.size }

// Close closes the file without syncing it.
func (a *AppendFile) Close() error {
	return a.file.Close() //nolint:wrapcheck // an fs.PathError says enough
}
