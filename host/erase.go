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
	"piworkflows/runqueue"
)

// Erase removes a project's own store and the bundles of its runs. It is meant
// for a store at its default place, whose folder holds nothing else; a host
// that runs on it is a *HeldError. A store that is not there is no error.
func Erase(ctx context.Context, p Paths, c clock.Clock, log *slog.Logger) error {
	if _, err := os.Stat(p.Store); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := lockHost(ctx, p.Store, c)
	if err != nil {
		return err
	}
	err = eraseRuns(ctx, p, c, log)
	// The lock lies in the folder that goes; on Windows it has to be free first.
	if err = errors.Join(err, lock.release()); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Dir(p.Store)); err != nil {
		return fmt.Errorf("remove the store: %w", err)
	}
	return nil
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
		if err := os.RemoveAll(filepath.Join(p.Runs, row.RunID)); err != nil {
			return fmt.Errorf("remove a run: %w", err)
		}
	}
	return nil
}

// maxErased bounds the runs that are removed with their store; a demo has a few.
const maxErased = 1000
