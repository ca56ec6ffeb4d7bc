package runbundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"piworkflows/internal/oslock"
)

// Remove removes the bundle of a run, and what was set aside of its unfinished
// starts. One that somebody writes is an oslock.ErrHeld; one that is not there is
// no error. The manifest goes first: from then on nobody takes what is left for a
// bundle, and a removal that was cut off can be repeated.
func Remove(o Options, root, runID string) error {
	o = o.withDefaults()
	if err := CheckRunID(runID); err != nil {
		return err // it might lead out of the folder
	}
	dir := filepath.Join(root, runID)
	if err := o.disown(dir); err != nil {
		return fmt.Errorf("remove the bundle of run %s: %w", runID, err)
	}
	aside, err := filepath.Glob(filepath.Join(root, "."+runID+".incomplete-*")) // a run ID has nothing that means something there
	if err != nil {
		return fmt.Errorf("remove the bundle of run %s: %w", runID, err)
	}
	for _, path := range append(aside, dir) {
		if err := o.FS.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the bundle of run %s: %w", runID, err)
		}
	}
	return nil
}

// disown makes a folder one that is no bundle.
func (o Options) disown(dir string) error {
	if info, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	lock, err := oslock.TryLockDir(dir)
	if err != nil {
		return err
	}
	err = o.FS.Remove(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = o.FS.SyncDir(dir)
	}
	return errors.Join(err, lock.Remove())
}

// Size returns the bytes of the files of a bundle.
func Size(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err //nolint:wrapcheck // what follows does
	})
	if err != nil {
		return 0, fmt.Errorf("measure a bundle: %w", err)
	}
	return size, nil
}
