//nolint:wrapcheck // SQLite reads these errors, and takes only some types.
package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"piworkflows/internal/durable"
)

// Operations on files, as Options.Fault sees them.
const (
	opOpen     = "open"
	opWrite    = "write"
	opSync     = "sync"
	opTruncate = "truncate"
)

// fileLayer is the file layer of the operating system with two changes. Full and
// read-only disks keep their names: of most such errors SQLite makes an "I/O
// error", and loses the cause on its way. And tests can make operations fail.
type fileLayer struct {
	vfs.VFSFilename
	fault func(op, path string) error
}

// registerFiles makes a layer known to SQLite under a name, until forgetFiles.
func registerFiles(name string, fault func(op, path string) error) error {
	system, ok := vfs.Find("").(vfs.VFSFilename)
	if !ok {
		return errors.New("this build has no SQLite file layer that opens files by name")
	}
	if fault == nil {
		fault = func(string, string) error { return nil }
	}
	vfs.Register(name, &fileLayer{system, fault})
	return nil
}

func forgetFiles(name string) { vfs.Unregister(name) }

// OpenFilename opens a file of SQLite's choice.
func (l *fileLayer) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	path := name.String()
	if err := l.fault(opOpen, path); err != nil {
		return nil, flags, translate(err)
	}
	file, flags, err := l.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, translate(err)
	}
	layered := &layeredFile{file, path, l.fault}
	if flags&vfs.OPEN_WAL != 0 {
		return &logFile{layeredFile: layered}, flags, nil
	}
	return layered, flags, nil
}

// layeredFile is a file of a fileLayer.
type layeredFile struct {
	vfs.File
	path  string
	fault func(op, path string) error
}

var (
	_ vfs.FileSharedMemory = (*layeredFile)(nil)
	_ vfs.FileSizeHint     = (*layeredFile)(nil)
	_ vfs.FileHasMoved     = (*layeredFile)(nil)
)

func (f *layeredFile) do(op string, operation func() error) error {
	err := f.fault(op, f.path)
	if err == nil {
		err = operation()
	}
	return translate(err)
}

// WriteAt writes a part.
func (f *layeredFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.do(opWrite, func() (err error) {
		n, err = f.File.WriteAt(p, offset)
		return err
	})
	return n, err
}

// Sync makes what was written durable.
func (f *layeredFile) Sync(flags vfs.SyncFlag) error {
	return f.do(opSync, func() error { return f.File.Sync(flags) })
}

// Truncate sets the size.
func (f *layeredFile) Truncate(size int64) error {
	return f.do(opTruncate, func() error { return f.File.Truncate(size) })
}

// SizeHint prepares for the file to grow.
func (f *layeredFile) SizeHint(size int64) error {
	if file, ok := f.File.(vfs.FileSizeHint); ok {
		return f.do(opTruncate, func() error { return file.SizeHint(size) })
	}
	return nil
}

// HasMoved reports whether the file has another name by now.
func (f *layeredFile) HasMoved() (bool, error) {
	if file, ok := f.File.(vfs.FileHasMoved); ok {
		return file.HasMoved()
	}
	return false, nil
}

// SharedMemory returns the index of the write-ahead log.
func (f *layeredFile) SharedMemory() vfs.SharedMemory {
	if file, ok := f.File.(vfs.FileSharedMemory); ok {
		return file.SharedMemory()
	}
	return nil
}

// DeviceCharacteristics leaves out what this layer does not pass on.
func (f *layeredFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// translate gives some errors of the operating system a code of SQLite; others
// have one, or get that of their operation.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case durable.IsDiskFull(err):
		return vfs.SystemError(err, sqlite3.FULL)
	case durable.IsReadOnly(err):
		return vfs.SystemError(err, sqlite3.READONLY)
	}
	return err
}
