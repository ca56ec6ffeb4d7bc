package controller

import (
	"errors"
	"fmt"
	"strings"

	"piworkflows/internal/limit"
)

// LimitError says which bound a value broke.
type LimitError = limit.Error

// Sentinels that the typed errors of this package match with errors.Is.
var (
	// ErrNotFound matches every *NotFoundError.
	ErrNotFound = errors.New("not found")
	// ErrConflict matches every *ConflictError.
	ErrConflict = errors.New("conflict")
	// ErrDeleting matches every *DeletingError.
	ErrDeleting = errors.New("being deleted")
	// ErrSecondApply matches every *SecondApplyError.
	ErrSecondApply = errors.New("one external change a pass is the limit")
)

// NotFoundError says that a resource does not exist.
type NotFoundError struct{ Ref Ref }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("resource %s does not exist: create it with apply, or list what there is with controllers", e.Ref)
}

// Is makes every NotFoundError match ErrNotFound.
func (*NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ErrorCode is the stable code of the error.
func (*NotFoundError) ErrorCode() string { return "not_found" }

// ConflictError says that a resource changed after it was read. Nothing was
// written.
type ConflictError struct {
	Ref Ref
	// Expected is the version the caller read, Current the one in the store (0
	// if the resource does not exist).
	Expected, Current int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("resource %s is at version %d, not %d: read it again and decide anew", e.Ref, e.Current, e.Expected)
}

// Is makes every ConflictError match ErrConflict.
func (*ConflictError) Is(target error) bool { return target == ErrConflict }

// ErrorCode is the stable code of the error.
func (*ConflictError) ErrorCode() string { return "version_conflict" }

// DeletingError says that a resource is being deleted, so its spec stays.
type DeletingError struct{ Ref Ref }

func (e *DeletingError) Error() string {
	return fmt.Sprintf("resource %s is being deleted: wait with `wait --for deleted`, then apply it anew", e.Ref)
}

// Is makes every DeletingError match ErrDeleting.
func (*DeletingError) Is(target error) bool { return target == ErrDeleting }

// ErrorCode is the stable code of the error.
func (*DeletingError) ErrorCode() string { return "being_deleted" }

// NameError says that a name or key breaks the rules of its kind.
type NameError struct {
	// What names the kind, for example "controller name" or "resource key".
	What, Value, Rule string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s %.80q is not valid: %s", e.What, e.Value, e.Rule)
}

// ErrorCode is the stable code of the error.
func (*NameError) ErrorCode() string { return "invalid_name" }

// SpecProblem is one thing that is wrong with a spec.
type SpecProblem struct {
	// Pointer is the JSON pointer of the place; empty is the whole spec.
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// SpecError refuses a spec. It lists every problem; nothing was written.
type SpecError struct {
	// Controller is empty for the input of a workflow, which its error names.
	Controller string
	Problems   []SpecProblem
}

func (e *SpecError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		place := p.Pointer
		if place == "" {
			place = "/"
		}
		parts[i] = place + ": " + p.Message
	}
	text := strings.Join(parts, "; ")
	if e.Controller == "" {
		return text
	}
	return fmt.Sprintf("invalid spec for controller %s: %s", e.Controller, text)
}

// ErrorCode is the stable code of the error.
func (*SpecError) ErrorCode() string { return "invalid_spec" }

// EffectConflictError says that an effect key was used before for something
// else. Nothing was called.
type EffectConflictError struct {
	Ref Ref
	Key string
	// Differs names what is not the same: request, generation or kind.
	Differs string
}

func (e *EffectConflictError) Error() string {
	return fmt.Sprintf(
		"effect %q of %s is recorded with another %s: a changed effect needs a key of its own", e.Key, e.Ref, e.Differs)
}

// ErrorCode is the stable code of the error.
func (*EffectConflictError) ErrorCode() string { return "effect_conflict" }

// SecondApplyError ends a pass that tried a second external change. Nothing was
// called; a pass that returns it is requeued, and the next one goes on.
type SecondApplyError struct {
	Ref    Ref
	Effect string
}

func (e *SecondApplyError) Error() string {
	return fmt.Sprintf("%s; effect %.80q of %s comes too late for this one: return the error or Requeue, and let the next pass make it",
		ErrSecondApply, e.Effect, e.Ref)
}

// Is makes every SecondApplyError match ErrSecondApply.
func (*SecondApplyError) Is(target error) bool { return target == ErrSecondApply }

// ErrorCode is the stable code of the error.
func (*SecondApplyError) ErrorCode() string { return "second_apply" }

// ChildConflictError says that a request key was used before for another child
// run. Nothing was started.
type ChildConflictError struct {
	Ref        Ref
	RequestKey string
	// Differs names what is not the same: input or workflow.
	Differs string
}

func (e *ChildConflictError) Error() string {
	return fmt.Sprintf(
		"child request %q of %s is recorded with another %s: a changed request needs a key of its own",
		e.RequestKey, e.Ref, e.Differs)
}

// ErrorCode is the stable code of the error.
func (*ChildConflictError) ErrorCode() string { return "child_conflict" }

// UnknownControllerError says that no definition has that name.
type UnknownControllerError struct {
	Name  string
	Known []string
}

func (e *UnknownControllerError) Error() string {
	return fmt.Sprintf("no controller is named %.80q: known are %s", e.Name, orNone(e.Known))
}

// ErrorCode is the stable code of the error.
func (*UnknownControllerError) ErrorCode() string { return "unknown_controller" }

// UnknownWorkflowError says that no workflow has that name.
type UnknownWorkflowError struct {
	Name  string
	Known []string
}

func (e *UnknownWorkflowError) Error() string {
	return fmt.Sprintf("no workflow is named %.80q: known are %s", e.Name, orNone(e.Known))
}

// ErrorCode is the stable code of the error.
func (*UnknownWorkflowError) ErrorCode() string { return "unknown_workflow" }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// TerminalError is the error of a pass that trying again cannot mend. Make one
// with Terminal.
type TerminalError struct{ Err error }

// Terminal marks an error as one that trying again cannot mend: the key leaves
// the queue as if it had settled, and runs again after a change of its spec, an
// event or a request. The runtime writes no condition; a controller that can,
// writes one and returns Settled instead.
func Terminal(err error) error { return &TerminalError{Err: err} }

func (e *TerminalError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *TerminalError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*TerminalError) ErrorCode() string { return "terminal" }
