package runqueue

import "fmt"

// NotFoundError says that no row has that run ID.
type NotFoundError struct{ RunID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no run has the ID %.200q: list them with runs", e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NotFoundError) ErrorCode() string { return "run_not_found" }

// ChildRunError refuses for a child run what only its controller may decide.
type ChildRunError struct {
	RunID string
	// ChildOf is the request ID of the run.
	ChildOf string
}

func (e *ChildRunError) Error() string {
	return fmt.Sprintf("run %s is a child run (request %s): its controller decides about it; "+
		"find its resource with controllers", e.RunID, e.ChildOf)
}

// ErrorCode is the stable code of the error.
func (*ChildRunError) ErrorCode() string { return "child_run" }

// HeldError says that another process, or another part of this one, runs the run.
type HeldError struct {
	RunID string
	// Holder names the process.
	Holder string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s is in the hands of %s: pause or cancel it, or wait for its end", e.RunID, e.Holder)
}

// ErrorCode is the stable code of the error.
func (*HeldError) ErrorCode() string { return "run_held" }

// EndedError says that nothing of a run is left to do.
type EndedError struct {
	RunID string
	// Status is how it ended: that of its bundle, or of its row if that is all
	// that is known.
	Status string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("run %s has ended as %s: nothing is left to run; look at it with view %s", e.RunID, e.Status, e.RunID)
}

// ErrorCode is the stable code of the error.
func (*EndedError) ErrorCode() string { return "run_ended" }

// NotWaitingError says that a run waits for no answer.
type NotWaitingError struct {
	RunID string
	// Status is where it stands instead, as in EndedError.
	Status string
}

func (e *NotWaitingError) Error() string {
	return fmt.Sprintf("run %s waits for no answer, it is %s: look at it with view %s", e.RunID, e.Status, e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NotWaitingError) ErrorCode() string { return "not_waiting" }

// ContinuedError says that a run was answered already. One answer counts.
type ContinuedError struct {
	RunID string
	// ContinuedBy is the run that the answer started.
	ContinuedBy string
}

func (e *ContinuedError) Error() string {
	return fmt.Sprintf("run %s was answered already: run %s goes on from there; look at that with view %s",
		e.RunID, e.ContinuedBy, e.ContinuedBy)
}

// ErrorCode is the stable code of the error.
func (*ContinuedError) ErrorCode() string { return "already_answered" }
