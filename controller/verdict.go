package controller

import (
	"fmt"
	"slices"

	"piworkflows/internal/wording"
)

// VerdictKind is what a person says of an effect.
type VerdictKind string

// The verdicts.
const (
	// VerdictApplied: the change is there.
	VerdictApplied VerdictKind = "applied"
	// VerdictNotApplied: it is certainly not there. The next pass applies the
	// effect without observing.
	VerdictNotApplied VerdictKind = "not-applied"
	// VerdictAbandon: it is not to be made; the effect counts as rejected.
	VerdictAbandon VerdictKind = "abandon"
)

// Verdicts returns all verdicts.
func Verdicts() []VerdictKind {
	return []VerdictKind{VerdictApplied, VerdictNotApplied, VerdictAbandon}
}

// Verdict is the word of a person on an effect of which nobody knows how it
// ended. Effect, Kind, Actor and Reason are required.
type Verdict struct {
	// Effect is the key of the effect.
	Effect string
	Kind   VerdictKind
	// Actor says who gives it and Reason why; both are recorded.
	Actor, Reason string
}

// Check refuses a verdict that is incomplete.
func (v Verdict) Check() error {
	switch {
	case !slices.Contains(Verdicts(), v.Kind):
		return &VerdictError{Reason: fmt.Sprintf("%.40q is none of %v", v.Kind, Verdicts())}
	case v.Actor == "" || v.Reason == "":
		return &VerdictError{Reason: "it must say who gives it and why"}
	}
	return ValidateKey("effect key", v.Effect)
}

// EffectQuery selects effects; empty fields select everything.
type EffectQuery struct {
	Controller, Key string
	State           EffectState
	// Limit is 1 to 1000; zero is 100.
	Limit int
	// Continue is that of the last item of the page before.
	Continue string
}

// EffectItem is an effect with its resource.
type EffectItem struct {
	Ref
	EffectRecord
	// Continue is the place after it in the list.
	Continue string
}

// VerdictError refuses a verdict that cannot be recorded.
type VerdictError struct{ Reason string }

func (e *VerdictError) Error() string { return "the verdict is not accepted: " + e.Reason }

// ErrorCode is the stable code of the error.
func (*VerdictError) ErrorCode() string { return "invalid_verdict" }

// EffectNotFoundError says that a resource has no such effect.
type EffectNotFoundError struct {
	Ref    Ref
	Effect string
}

func (e *EffectNotFoundError) Error() string {
	return fmt.Sprintf("%s has no effect %.80q: list them with effects %s %s", e.Ref, e.Effect, e.Ref.Controller, e.Ref.Key)
}

// ErrorCode is the stable code of the error.
func (*EffectNotFoundError) ErrorCode() string { return "effect_not_found" }

// EffectResolvedError says that it is known already how an effect ended.
type EffectResolvedError struct {
	Ref    Ref
	Effect string
	State  EffectState
}

func (e *EffectResolvedError) Error() string {
	return fmt.Sprintf("effect %.80q of %s is %s, which never changes: there is nothing to resolve", e.Effect, e.Ref, e.State)
}

// ErrorCode is the stable code of the error.
func (*EffectResolvedError) ErrorCode() string { return "effect_resolved" }

// EffectBusyError says that a pass works on the resource and may be finding out
// by itself.
type EffectBusyError struct {
	Ref    Ref
	Effect string
}

func (e *EffectBusyError) Error() string {
	return fmt.Sprintf("a pass works on %s and may be finding out what became of effect %.80q: suspend it, or try again in a moment",
		e.Ref, e.Effect)
}

// ErrorCode is the stable code of the error.
func (*EffectBusyError) ErrorCode() string { return "effect_busy" }

// FrozenError says that no effect of the project is applied. The record stays
// pending, and the key is tried again with growing delays, or at once when the
// freeze is lifted.
type FrozenError struct{ Freeze Suspension }

func (e *FrozenError) Error() string {
	return fmt.Sprintf("no effect is applied: the project was frozen by %s%s",
		wording.OrSomebody(e.Freeze.Actor), wording.Because(e.Freeze.Reason))
}

// ErrorCode is the stable code of the error.
func (*FrozenError) ErrorCode() string { return "frozen" }
