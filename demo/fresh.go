package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"piworkflows/clock"
	"piworkflows/host"
)

// SharedStoreError refuses to remove a store that others may use.
type SharedStoreError struct{ Store string }

func (e *SharedStoreError) Error() string {
	return fmt.Sprintf("the store %s was chosen with --store and may hold more than the demo: leave --store out, or --fresh", e.Store)
}

// ErrorCode is the stable code of the error.
func (*SharedStoreError) ErrorCode() string { return "shared_store" }

// clear removes the store, the runs and the repository of an earlier demo. The
// marker says so before and goes last: a clear that was killed is repeated.
func (d *run) clear(ctx context.Context) error {
	if d.Places.Store != "" {
		return &SharedStoreError{Store: d.Places.Store}
	}
	if err := d.place.advance(marker{Stage: clearing}); err != nil {
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
