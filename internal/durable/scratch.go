package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Scratch is a file for what does not fit into memory: it only grows, has no
// name where the system allows it, and is gone when it is closed or its process
// dies. It never lasts. It is safe to read while it is not being appended to.
type Scratch struct {
	fs   *FS
	file *os.File
	path string
	size int64
}

// Scratch makes a scratch file on the disk of the file at path, whose name it
// is told under to the hook.
func (f *FS) Scratch(path string) (*Scratch, error) {
	s := &Scratch{fs: f, path: path}
	name := fmt.Sprintf("%s.%d.%s.tmp", path, os.Getpid(), newUUID())
	err := f.do(OpCreate, path, func() (err error) {
		s.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|scratchFlag, fileMode)
		return err //nolint:wrapcheck // an fs.PathError says enough
	})
	if err != nil {
		return nil, err
	}
	if removeOpen {
		err = f.do(OpRemove, path, func() error { return os.Remove(name) })
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Append adds data at the end. After an error the file is as before.
func (s *Scratch) Append(data []byte) error {
	err := s.fs.do(OpWrite, s.path, func() error {
		written, err := s.file.WriteAt(data, s.size) // over what a failed one left
		s.fs.count(written)
		return err //nolint:wrapcheck // an fs.PathError says enough
	})
	if err == nil {
		s.size += int64(len(data))
	}
	return err
}

// ReadAt implements io.ReaderAt.
func (s *Scratch) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.file, 0, s.size).ReadAt(p, off) //nolint:wrapcheck // an fs.PathError says enough
}

// Size returns the size in bytes.
func (s *Scratch) Size() int64 { return s.size }

// Close removes the file.
func (s *Scratch) Close() error {
	return s.file.Close() //nolint:wrapcheck // an fs.PathError says enough
}
