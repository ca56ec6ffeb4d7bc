package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// findRun tells where the bundle of a run is, or why there is none.
func findRun(ctx context.Context, paths host.Paths, s host.Store, runID string) (*runbundle.Bundle, error) {
	if err := runbundle.CheckRunID(runID); err != nil {
		return nil, err
	}
	b, err := runbundle.Read(filepath.Join(paths.Runs, runID))
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if s == nil {
		return nil, &runqueue.NotFoundError{RunID: runID}
	}
	row, err := s.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	return nil, &host.NotRecordedError{RunID: runID, Status: row.Status, Runs: paths.Runs}
}
