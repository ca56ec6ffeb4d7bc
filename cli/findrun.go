package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

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
	return nil, &NotRecordedError{runID, row.Status, paths.Runs}
}

// NotRecordedError says that a run has no record to look at.
type NotRecordedError struct {
	RunID  string
	Status runqueue.Status
	Runs   string
}

func (e *NotRecordedError) Error() string {
	next := "start a host"
	if e.Status.Final() {
		next = "name the right folder with --runs"
	}
	return strings.Join([]string{
		fmt.Sprintf("run %s is %s", e.RunID, e.Status), "it has no record in " + e.Runs, next,
	}, ": ")
}

// ErrorCode is the stable code of the error.
func (*NotRecordedError) ErrorCode() string { return "run_not_recorded" }
