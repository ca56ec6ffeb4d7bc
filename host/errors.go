package host

import (
	"errors"
	"fmt"
	"strings"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// ProjectError says that the project directory cannot be used.
type ProjectError struct{ Dir, Reason string }

func (e *ProjectError) Error() string {
	return fmt.Sprintf("the project directory %s cannot be used: %s: give an existing one with --project", e.Dir, e.Reason)
}

// ErrorCode is the stable code of the error.
func (*ProjectError) ErrorCode() string { return "invalid_project" }

// UnsupportedStoreError refuses a store that is no file.
type UnsupportedStoreError struct{ Store string }

func (e *UnsupportedStoreError) Error() string {
	scheme, _, _ := strings.Cut(e.Store, "://")
	return fmt.Sprintf("a store at %s:// is not supported yet: give the path of a SQLite file with --store", scheme)
}

// ErrorCode is the stable code of the error.
func (*UnsupportedStoreError) ErrorCode() string { return "unsupported_store" }

// HeldError says that another host runs the workers of this store.
type HeldError struct {
	// Lock is the lock file, Holder what its owner wrote about itself.
	Lock, Holder string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another host runs on this store (%s): stop it, or use that one; its lock is %s", e.Holder, e.Lock)
}

// ErrorCode is the stable code of the error.
func (*HeldError) ErrorCode() string { return "host_running" }

// DuplicateDefinitionError says that one place has several definitions of one name,
// so that none of them is used.
type DuplicateDefinitionError struct {
	Kind  controller.DefinitionKind
	Name  string
	Place Place
	// Sources name them.
	Sources []string
}

func (e *DuplicateDefinitionError) Error() string {
	return fmt.Sprintf("%d %ss of the place %s are named %q (%s), so none is used: rename all but one",
		len(e.Sources), e.Kind, e.Place, e.Name, strings.Join(e.Sources, ", "))
}

// ErrorCode is the stable code of the error.
func (*DuplicateDefinitionError) ErrorCode() string { return "duplicate_definition" }

// NotRecordedError says that a run has no record to look at, or to go on with.
type NotRecordedError struct {
	RunID  string
	Status runqueue.Status
	// Runs is the folder of bundles that was looked into.
	Runs string
}

func (e *NotRecordedError) Error() string {
	next := "name the right folder with --runs, or end it with cancel " + e.RunID
	switch {
	case e.Status == runqueue.Queued:
		next = "start a host"
	case e.Status.Final():
		next = "name the right folder with --runs"
	}
	return fmt.Sprintf("run %s is %s: it has no record in %s: %s", e.RunID, e.Status, e.Runs, next)
}

// ErrorCode is the stable code of the error.
func (*NotRecordedError) ErrorCode() string { return "run_not_recorded" }

// NotRunningError says that nobody runs a run.
type NotRunningError struct {
	RunID string
	// Status is where it stands; see RunStatus.
	Status string
}

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("run %s is %s, it does not run: see what may follow with view %s", e.RunID, e.Status, e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NotRunningError) ErrorCode() string { return "run_not_running" }

// joinErrors is errors.Join that returns a lone error as it is.
func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
