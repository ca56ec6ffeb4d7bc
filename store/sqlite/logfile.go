//nolint:wrapcheck // SQLite reads these errors, and takes only some types.
package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3/vfs"
)

// The frames of the write-ahead log, https://sqlite.org/fileformat2.html: a header
// and a page. The header of the frame that ends a transaction tells the size of the
// database after it; that of every other frame tells 0.
const (
	frameHeader   = 24
	frameSizeAt   = 4
	frameSizeEnds = 8
)

// maxAtOnce bounds the frames that are written at once, in bytes.
const maxAtOnce = 1 << 20

// logFile is a write-ahead log. SQLite writes each frame of a transaction in two
// calls; here all of them become one call of the operating system. What waits is
// written with the frame that ends the transaction, and before anything else
// happens to the file. So nobody can see that it waited: a frame whose transaction
// has not ended was never committed, and only this connection would read it.
type logFile struct {
	*layeredFile
	waiting []byte
	at      int64 // where they belong
	last    int   // where the header of the last frame begins in waiting
}

var (
	_ vfs.FileSharedMemory = (*logFile)(nil)
	_ vfs.FileSizeHint     = (*logFile)(nil)
	_ vfs.FileHasMoved     = (*logFile)(nil)
)

// WriteAt writes a part, or keeps a frame until its transaction ends.
func (f *logFile) WriteAt(p []byte, offset int64) (int, error) {
	isHeader := len(p) == frameHeader
	follows := offset == f.at+int64(len(f.waiting))
	switch {
	case isHeader && len(f.waiting) > 0 && follows:
		f.last = len(f.waiting)
	case isHeader:
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at, f.last = offset, 0
	case !follows || len(f.waiting) != f.last+frameHeader: // not the page of a header
		if err := f.flush(); err != nil {
			return 0, err
		}
		return f.layeredFile.WriteAt(p, offset)
	}
	f.waiting = append(f.waiting, p...)
	if isHeader || !f.ends() && len(f.waiting) < maxAtOnce {
		return len(p), nil
	}
	return len(p), f.flush()
}

// ends reports whether the last frame that waits ends its transaction.
func (f *logFile) ends() bool {
	return binary.BigEndian.Uint32(f.waiting[f.last+frameSizeAt:f.last+frameSizeEnds]) != 0
}

func (f *logFile) flush() error {
	if len(f.waiting) == 0 {
		return nil
	}
	frames := f.waiting
	f.waiting, f.last = f.waiting[:0], 0
	_, err := f.layeredFile.WriteAt(frames, f.at)
	return err
}

// ReadAt reads a part.
func (f *logFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.layeredFile.ReadAt(p, offset)
}

// Sync makes what was written durable.
func (f *logFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.layeredFile.Sync(flags)
}

// Truncate sets the size.
func (f *logFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.layeredFile.Truncate(size)
}

// Size returns the size.
func (f *logFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.layeredFile.Size()
}
