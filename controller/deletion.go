package controller

import (
	"fmt"
	"strings"
)

// Check refuses a deletion that takes a finalizer away without saying who wants
// that and why.
func (d Deletion) Check() error {
	if err := ValidateRef(d.Ref); err != nil {
		return err
	}
	if d.ForceFinalizer != "" && (d.Actor == "" || d.Reason == "") {
		return &ForceError{Ref: d.Ref, Finalizer: d.ForceFinalizer}
	}
	return nil
}

// WaitsFor lists what the deletion of a resource waits for, beside the next pass:
// a suspension, which keeps that pass from coming, finalizers, effects of which
// nobody knows how they ended, children that run. It is empty if nothing but that
// pass is left.
//
// Spec: Deletion and cleanup.
func WaitsFor(s Situation) []Cause {
	e := explaining{Situation: s}
	e.suspended()
	e.held()
	return e.causes
}

// ForceError refuses to take a finalizer away without a word on it.
type ForceError struct {
	Ref       Ref
	Finalizer string
}

func (e *ForceError) Error() string {
	return fmt.Sprintf("finalizer %.80q of %s is not taken away: say who wants that and why, with --reason", e.Finalizer, e.Ref)
}

// ErrorCode is the stable code of the error.
func (*ForceError) ErrorCode() string { return "force_without_reason" }

// FinalizerNotFoundError says that a resource has no such finalizer.
type FinalizerNotFoundError struct {
	Ref       Ref
	Finalizer string
	// Present are those that it has.
	Present []string
}

func (e *FinalizerNotFoundError) Error() string {
	return fmt.Sprintf("%s has no finalizer %.80q, it has: %s", e.Ref, e.Finalizer, orNone(e.Present))
}

// ErrorCode is the stable code of the error.
func (*FinalizerNotFoundError) ErrorCode() string { return "finalizer_not_found" }

// UnfinishedEffectsError refuses to take a finalizer away while nobody knows what
// became of an effect: its record would be all that is left of it.
type UnfinishedEffectsError struct {
	Ref     Ref
	Effects []string
}

func (e *UnfinishedEffectsError) Error() string {
	return fmt.Sprintf("nobody knows how these effects of %s ended: %s; say it first with effects resolve %s %s EFFECT VERDICT --reason WHY",
		e.Ref, strings.Join(e.Effects, ", "), e.Ref.Controller, e.Ref.Key)
}

// ErrorCode is the stable code of the error.
func (*UnfinishedEffectsError) ErrorCode() string { return "effects_unfinished" }
