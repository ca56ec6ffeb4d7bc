package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"piworkflows/internal/durable"
)

// draft is a database that is being made beside the place where it will be.
type draft struct {
	place, path string
}

// newDraft makes an empty file that nobody else may read.
func newDraft(place string) (*draft, error) {
	d := &draft{place: place, path: place + "." + uuid.NewString() + ".tmp"}
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NoFolderError{Path: filepath.Dir(place)}
	}
	if err != nil {
		return nil, fmt.Errorf("make a copy: %w", err)
	}
	return d, file.Close() //nolint:wrapcheck // nothing was written
}

// discard removes the draft with what SQLite keeps beside it; after it was placed
// there is nothing to remove.
func (d *draft) discard() {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(d.path + suffix) // mostly it is not there
	}
}

// sync makes the draft last before it gets its name.
func (d *draft) sync(fault func(op, path string) error) error {
	if fault != nil {
		if err := fault(opSync, d.path); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(d.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	return errors.Join(file.Sync(), file.Close())
}

// create gives the draft its name, which must be free.
func (d *draft) create() error {
	err := os.Link(d.path, d.place)
	if errors.Is(err, fs.ErrExist) {
		return &CopyExistsError{Path: d.place}
	}
	if err != nil { // a file system without hard links
		if _, err := os.Lstat(d.place); err == nil {
			return &CopyExistsError{Path: d.place}
		}
		return d.replace()
	}
	return durable.OS().SyncDir(filepath.Dir(d.place))
}

// replace gives the draft its name, whoever has it.
func (d *draft) replace() error {
	if err := os.Rename(d.path, d.place); err != nil {
		return fmt.Errorf("put a copy in its place: %w", err)
	}
	return durable.OS().SyncDir(filepath.Dir(d.place))
}
