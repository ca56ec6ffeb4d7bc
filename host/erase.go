package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
)

// Erase removes a project's own store and the bundles of its runs, and nothing
// else that lies beside them. A host that runs on the store is a *HeldError. A
// store that is not there is no error.
func Erase(ctx context.Context, p Paths, c clock.Clock, log *slog.Logger) error {
	if _, err := os.Stat(p.Store); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := lockHost(ctx, p.Store, c)
	if err != nil {
		return err
	}
	if err := eraseRuns(ctx, p, c, log); err != nil {
		return errors.Join(err, lock.release())
	}
	return errors.Join(eraseStore(p.Store), lock.remove(), removeEmpty(filepath.Dir(p.Store)))
}

// eraseRuns removes the bundles that the store names, and no others: the runs
// folder is shared by projects.
func eraseRuns(ctx context.Context, p Paths, c clock.Clock, log *slog.Logger) (err error) {
	store, err := OpenStore(ctx, p, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rows, err := store.Runs(ctx, runqueue.Query{Limit: maxErased})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := runbundle.CheckRunID(row.RunID); err != nil {
			return err // it might lead out of the folder
		}
		if err := durable.OS().RemoveAll(filepath.Join(p.Runs, row.RunID)); err != nil {
			return fmt.Errorf("remove a run: %w", err)
		}
	}
	if p.Spool == "" {
		return nil
	}
	return spool.Sweep(p.Spool)
}

// maxErased bounds the runs that are removed with their store; a demo has a few.
const maxErased = 1000

// eraseStore removes the files of a store. The one that Erase looks for goes
// last, so that an erasure that was killed can be repeated.
func eraseStore(store string) error {
	owners := filepath.Join(filepath.Dir(store), "owners")
	for _, path := range []string{owners, store + processFolder, store + "-shm", store + "-wal", store} {
		if err := durable.OS().RemoveAll(path); err != nil {
			return fmt.Errorf("remove the store: %w", err)
		}
	}
	return nil
}

// removeEmpty removes a folder in which nothing is left.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove the folder of the store: %w", err)
	}
	if len(entries) > 0 {
		return nil
	}
	return durable.OS().Remove(dir)
}
