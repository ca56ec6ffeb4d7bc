package durable

import (
	"errors"
	"io"
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
	p, err := f.whole(path, data, sync)
	if err != nil {
		return err
	}
	if err := p.Place(); err != nil {
		return err
	}
	return f.syncParent(path, sync)
}

// CreateExclusive makes a file with that content, if there is none at path; if
// there is, the error is an fs.ErrExist and the file is left alone. Of any
// number of processes that try it at once exactly one succeeds, and nobody sees
// a part of the content. The meaning of sync is that of [FS.Replace]. The file
// system must know hard links.
func (f *FS) CreateExclusive(path string, data []byte, sync bool) error {
	p, err := f.whole(path, data, sync)
	if err != nil {
		return err
	}
	err = f.do(OpLink, path, func() error { return os.Link(p.name, path) })
	if err == nil {
		err = f.syncParent(path, sync)
	}
	return errors.Join(err, p.Discard())
}

// whole prepares data as the content of a file.
func (f *FS) whole(path string, data []byte, sync bool) (*Pending, error) {
	p, err := f.Prepare(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err //nolint:wrapcheck // an fs.PathError says enough
	})
	if err != nil || !sync {
		return p, err
	}
	if err := f.Sync(p); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	return p, nil
}

func (f *FS) syncParent(path string, sync bool) error {
	if !sync {
		return nil
	}
	return f.SyncDir(filepath.Dir(path))
}
