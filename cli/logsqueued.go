package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"piworkflows/clock"
	"piworkflows/host"
	"piworkflows/internal/watch"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// awaitStart waits until a run that is queued has a record to follow, or will have
// none, and says what it waits for. What is wrong with any other run, its record
// tells.
func (a *App) awaitStart(ctx context.Context, paths host.Paths, s host.Store, runID string) error {
	if s == nil {
		return nil
	}
	row, err := s.Run(ctx, runID)
	if _, unknown := errors.AsType[*runqueue.NotFoundError](err); unknown {
		return nil
	}
	if err != nil || row.Status != runqueue.Queued {
		return err
	}
	a.sayf("run %s is %s: its output follows once a host runs it", runID, standing(row, paths))
	a.sayIfNoHost()
	return a.awaitRecord(ctx, queuedRun{s, runID, paths.Runs})
}

// awaitRecord waits until it is decided whether a run has a record.
func (a *App) awaitRecord(ctx context.Context, q queuedRun) (err error) {
	w, err := q.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for {
		// Watched first, so that what comes after the look is not missed.
		if _, err := w.Add(q.bundle(), "manifest.json"); err != nil {
			return err
		}
		if decided, err := q.decided(ctx); decided || err != nil {
			return err
		}
		if err := a.waitToLook(ctx, w); err != nil {
			return err
		}
	}
}

// queuedRun is a run that may have no record yet.
type queuedRun struct {
	store host.Store
	runID string
	root  string
}

func (q queuedRun) bundle() string { return filepath.Join(q.root, q.runID) }

// watch begins to watch the place where the record will be.
func (q queuedRun) watch() (*watch.Watcher, error) {
	if err := os.MkdirAll(q.root, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of runs: %w", err)
	}
	w, err := watch.New()
	if err != nil {
		return nil, err
	}
	if _, err := w.Add(q.root, q.runID); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// decided reports whether the run has a record, or ended without one.
func (q queuedRun) decided(ctx context.Context) (bool, error) {
	if _, err := runbundle.ReadManifest(q.bundle()); !errors.Is(err, fs.ErrNotExist) {
		return true, nil // also one that cannot be read: who reads it says why
	}
	row, err := q.store.Run(ctx, q.runID)
	return err == nil && row.Status.Final(), err
}

// waitToLook waits until something happened, and no longer than until it is time to
// look at what no file tells.
func (a *App) waitToLook(ctx context.Context, w *watch.Watcher) error {
	waiting, cancel := clock.WithTimeoutCause(ctx, a.o.Clock, aliveness, errLook)
	defer cancel()
	if err := w.Wait(waiting); !errors.Is(err, errLook) {
		return err
	}
	return nil
}
