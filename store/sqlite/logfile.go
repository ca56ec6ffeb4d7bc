//nolint:wrapcheck // SQLite reads these errors, and takes only some types.
package sqlite

import "github.com/ncruces/go-sqlite3/vfs"

// frameHeader is the size of what SQLite writes before each page of the
// write-ahead log.
const frameHeader = 24

// logFile is a write-ahead log. SQLite writes each of its frames in two calls, the
// header and then the page; here both become one call of the operating system. A
// header that waits for its page is written before anything else happens to the
// file, so nobody can see that it waited: what is not followed by its page was
// never committed.
type logFile struct {
	*layeredFile
	frame []byte // the header that waits, if any
	at    int64
}

var (
	_ vfs.FileSharedMemory = (*logFile)(nil)
	_ vfs.FileSizeHint     = (*logFile)(nil)
	_ vfs.FileHasMoved     = (*logFile)(nil)
)

// WriteAt writes a part, or keeps a header until its page comes.
func (f *logFile) WriteAt(p []byte, offset int64) (int, error) {
	if len(f.frame) > 0 && offset == f.at+frameHeader {
		f.frame = append(f.frame, p...)
		return len(p), f.flush()
	}
	if err := f.flush(); err != nil {
		return 0, err
	}
	if len(p) == frameHeader {
		f.frame, f.at = append(f.frame, p...), offset
		return len(p), nil
	}
	return f.layeredFile.WriteAt(p, offset)
}

func (f *logFile) flush() error {
	if len(f.frame) == 0 {
		return nil
	}
	frame := f.frame
	f.frame = f.frame[:0]
	_, err := f.layeredFile.WriteAt(frame, f.at)
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
