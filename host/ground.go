package host

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"piworkflows/clock"
	"piworkflows/internal/durable"
)

// ground are the folders that a run writes to. A run that is begun while one of them
// takes nothing comes to nothing, and does so anew with each try, until it counts as
// one that can never end.
type ground struct {
	disk  *durable.FS
	clock clock.Clock
	log   *slog.Logger
	// runs has the bundles, store the notes of commands that are under way.
	runs, store string
}

func (o Options) ground() ground {
	return ground{disk: o.FS, clock: o.Clock, log: o.Logger, runs: o.Runs, store: filepath.Dir(o.Store)}
}

// FolderError says that a folder takes no files, because its disk is full or
// read-only.
type FolderError struct {
	// Dir is the folder.
	Dir string
	// Err is the error of the disk.
	Err error
}

func (e *FolderError) Error() string {
	next := "free space there"
	if durable.IsReadOnly(e.Err) {
		next = "make it writable"
	}
	return fmt.Sprintf("the folder %s takes no files: %v: %s, and runs go on by themselves", e.Dir, e.Err, next)
}

// Unwrap returns the error of the disk.
func (e *FolderError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (e *FolderError) ErrorCode() string {
	if durable.IsReadOnly(e.Err) {
		return "read_only"
	}
	return "disk_full"
}

// look tries each folder, and returns a *FolderError for each that takes no files.
func (g ground) look() (refusals []error) {
	for _, dir := range []string{g.runs, g.store} {
		if err := g.try(dir); durable.IsDiskFull(err) || durable.IsReadOnly(err) {
			refusals = append(refusals, &FolderError{Dir: dir, Err: err})
		}
	}
	return refusals
}

// probe is as much as a file system gives at least: an empty file may need nothing.
var probe = make([]byte, 4<<10)

// try writes a file that is gone at once.
func (g ground) try(dir string) error {
	file, err := g.disk.Scratch(filepath.Join(dir, ".probe"))
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Append(probe)
}

// await returns once all folders take files, or stop or held ended.
func (g ground) await(stop, held context.Context, runID string) {
	waiting, cancel := context.WithCancel(held)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	refusals := g.look()
	if len(refusals) == 0 {
		return
	}
	log := g.log.With("runId", runID)
	log.ErrorContext(waiting, "the run waits for its disk", "error", joinErrors(refusals))
	for len(refusals) > 0 && clock.Sleep(waiting, g.clock, storeRetry) == nil {
		refusals = g.look()
	}
	if !ended(waiting) {
		log.InfoContext(waiting, "the disk takes files again, the run goes on")
	}
}
