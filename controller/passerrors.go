package controller

import (
	"errors"
	"fmt"
	"time"

	"piworkflows/internal/wording"
)

// Sentinels of passes and managers.
var (
	// ErrStopped is the cause with which a stopping manager cancels its passes.
	ErrStopped = errors.New("the manager stops; the key goes on with the next one")
	// ErrRunning refuses a second Run at the same time.
	ErrRunning = errors.New("the manager runs already: make a second one for other definitions")
	// ErrNoScheduler refuses a child run where nothing could run it.
	ErrNoScheduler = errors.New("this manager has no scheduler for child runs: give it one in ManagerOptions.Scheduler")
)

// TimeoutError is the cause with which a pass is cancelled at its deadline.
type TimeoutError struct {
	Ref     Ref
	Timeout time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf(
		"the pass of %s did not end within %s: do less in one pass, or raise the timeout of its controller", e.Ref, e.Timeout)
}

// ErrorCode is the stable code of the error.
func (*TimeoutError) ErrorCode() string { return "pass_timeout" }

// StopError says that a manager stopped without waiting for every pass. Their
// keys are free again; what they still do to the store is refused.
type StopError struct {
	// Abandoned counts reconcilers that have not returned.
	Abandoned int
}

func (e *StopError) Error() string {
	return fmt.Sprintf("stopped with %s that ignored cancellation: pass ctx to everything that blocks",
		wording.Count(e.Abandoned, "pass", "passes"))
}

// ErrorCode is the stable code of the error.
func (*StopError) ErrorCode() string { return "passes_abandoned" }

// PanicError is a panic of an author's code, as an error of the pass.
type PanicError struct {
	// In names the function, for example "Reconcile".
	In string
	// Value is what was thrown, nil for a goroutine that ended itself.
	Value any
	// Stack is for the log; events do not carry it.
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return e.In + " ended its goroutine instead of returning"
	}
	return fmt.Sprintf("panic in %s: %v", e.In, e.Value)
}
