package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"piworkflows/builtin/gitmerge"
	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
)

// SharedStoreError refuses to remove a store that others may use.
type SharedStoreError struct{ Store string }

func (e *SharedStoreError) Error() string {
	return fmt.Sprintf("the store %s was chosen with --store and may hold more than the demo: leave --store out, or --fresh", e.Store)
}

// ErrorCode is the stable code of the error.
func (*SharedStoreError) ErrorCode() string { return "shared_store" }

// clear removes the worktrees, the store, the runs and the repository of an
// earlier demo. The marker says so before and goes last: a clear that was killed
// is repeated.
func (d *run) clear(ctx context.Context) error {
	if d.Places.Store != "" {
		return &SharedStoreError{Store: d.Places.Store}
	}
	if err := d.place.advance(marker{Stage: clearing}); err != nil {
		return err
	}
	if err := d.release(ctx); err != nil {
		return err
	}
	if err := host.Erase(ctx, d.paths, clock.System(), d.Logger); err != nil {
		return err
	}
	if err := d.place.fs.RemoveAll(filepath.Join(d.Dir, repositoryName)); err != nil {
		return err
	}
	return d.place.fs.Remove(filepath.Join(d.Dir, markerName))
}

// release removes the worktrees that an earlier demo left when it was killed.
// They lie in the cache of the user, where nobody would find them without the
// store.
func (d *run) release(ctx context.Context) error {
	if _, err := os.Stat(d.paths.Store); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.withStore(ctx, func() error {
		page, err := d.store.List(ctx, controller.ListQuery{Controller: gitmerge.Name})
		for _, item := range page.Items {
			repository := filepath.Join(d.Dir, repositoryName)
			err = errors.Join(err, gitmerge.Release(ctx, gitmerge.Options{}, repository, item.Resource.Metadata.UID))
		}
		return err
	})
}
