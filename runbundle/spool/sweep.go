package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
)

// lockPath is beside the folder of the run, which then can be removed under the
// lock. No run ID begins with a dot.
func lockPath(dir, runID string) string { return filepath.Join(dir, "."+runID+".lock") }

// Sweep removes from a folder of spools what dead owners left, of every run, and
// nothing that is not ours. A folder that does not exist is empty.
func Sweep(dir string) error {
	list, err := runs(dir)
	failed := []error{err}
	for _, runID := range list {
		failed = append(failed, sweep(durable.OS(), dir, runID))
	}
	return errors.Join(failed...)
}

// Left returns the runs of which Sweep would remove something from a folder of
// spools, in order. It changes nothing.
func Left(dir string) ([]string, error) {
	list, err := runs(dir)
	return slices.DeleteFunc(list, func(runID string) bool {
		held, err := oslock.Held(lockPath(dir, runID))
		return held || err != nil && !errors.Is(err, fs.ErrNotExist)
	}), err
}

// runs returns the runs that have something in a folder of spools, in order.
func runs(dir string) (list []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for spooled output that is left: %w", err)
	}
	for _, entry := range entries {
		runID := entry.Name()
		if !entry.IsDir() {
			runID = strings.TrimSuffix(strings.TrimPrefix(runID, "."), ".lock")
		}
		ours := entry.IsDir() || filepath.Join(dir, entry.Name()) == lockPath(dir, runID)
		if ours && runbundle.CheckRunID(runID) == nil {
			list = append(list, runID)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// sweep removes the spool of a run unless its owner lives.
func sweep(files *durable.FS, dir, runID string) error {
	if !exists(filepath.Join(dir, runID)) && !exists(lockPath(dir, runID)) {
		return nil
	}
	lock, err := oslock.TryLock(lockPath(dir, runID))
	if errors.Is(err, oslock.ErrHeld) {
		return nil // by its owner, or by somebody who does the same
	}
	if err != nil {
		return err
	}
	return errors.Join(files.RemoveAll(filepath.Join(dir, runID)), lock.Remove())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
