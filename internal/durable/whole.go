package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Replace makes data the content of the file at path, whether it exists or not.
// A reader, and a crash, find either the old or the new content, never a part.
// With sync the new content lasts when Replace returns; without it a power loss
// may bring back the old one.
// After an error the old content is in place; only when the folder could not be
// synced is it the new one, which may not last.
func (f *FS) Replace(path string, data []byte, sync bool) error {
	temporary, err := f.temporary(path, data, sync)
	if err != nil {
		return err
	}
	err = f.do(OpRename, path, func() error { return os.Rename(temporary, path) })
	if err != nil {
		return errors.Join(err, f.discard(temporary, path))
	}
	return f.syncParent(path, sync)
}

// CreateExclusive makes a file with that content, if there is none at path; if
// there is, the error is an fs.ErrExist and the file is left alone. Of any
// number of processes that try it at once exactly one succeeds, and nobody sees
// a part of the content. The meaning of sync is that of [FS.Replace]. The file
// system must know hard links.
func (f *FS) CreateExclusive(path string, data []byte, sync bool) error {
	temporary, err := f.temporary(path, data, sync)
	if err != nil {
		return err
	}
	err = f.do(OpLink, path, func() error { return os.Link(temporary, path) })
	if err == nil {
		err = f.syncParent(path, sync)
	}
	return errors.Join(err, f.discard(temporary, path))
}

// temporary writes data to a new file beside path and returns its name,
// `<name>.<pid>.<uuid>.tmp`. Spec: run bundle format, layout.
func (f *FS) temporary(path string, data []byte, sync bool) (name string, err error) {
	name = fmt.Sprintf("%s.%d.%s.tmp", path, os.Getpid(), newUUID())
	var file *os.File
	err = f.do(OpCreate, path, func() (err error) {
		file, err = open(name, os.O_EXCL)
		return err
	})
	if err != nil {
		return "", err
	}
	err = f.fill(file, path, data, sync)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, f.discard(name, path))
	}
	return name, nil
}

func (f *FS) fill(file *os.File, name string, data []byte, sync bool) error {
	if _, err := f.write(file, name, data); err != nil || !sync {
		return err
	}
	return f.do(OpSync, name, file.Sync)
}

func (f *FS) discard(temporary, path string) error {
	return f.do(OpRemove, path, func() error { return os.Remove(temporary) })
}

func (f *FS) syncParent(path string, sync bool) error {
	if !sync {
		return nil
	}
	return f.SyncDir(filepath.Dir(path))
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
