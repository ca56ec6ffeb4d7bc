package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// newWrite applies a patch to a resource as the pass knows it. An error means
// that the pass failed; nothing of the patch is used.
func newWrite(r Raw, p Patch[json.RawMessage], now time.Time) (*Write, error) {
	conditions, err := mergeConditions(r.Status.Conditions, p.Conditions, r.Metadata.Generation, now)
	if err != nil {
		return nil, err
	}
	finalizers, err := patchFinalizers(r.Metadata.Finalizers, p.Finalizers)
	if err != nil {
		return nil, err
	}
	w := &Write{
		Version:            r.Metadata.ResourceVersion,
		ObservedGeneration: r.Metadata.Generation,
		Conditions:         conditions,
		ControllerStatus:   r.Status.ControllerStatus,
		Finalizers:         finalizers,
	}
	if p.ControllerStatus != nil {
		if w.ControllerStatus, err = canonical.Canonical(*p.ControllerStatus); err != nil {
			return nil, fmt.Errorf("controller status: %w", err)
		}
	}
	if p.Conditions == nil && p.ControllerStatus == nil {
		return w, nil // as large as it was
	}
	return w, w.checkSize(r.Status.WorkflowRun)
}

// checkSize bounds the whole status, of which the write is a part.
func (w *Write) checkSize(run *WorkflowRun) error {
	status, err := canonical.Marshal(Status[json.RawMessage]{
		ObservedGeneration: w.ObservedGeneration,
		Conditions:         w.Conditions,
		WorkflowRun:        run,
		ControllerStatus:   w.ControllerStatus,
	})
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return limit.Bytes("resource status", status, MaxStatusBytes)
}

// mergeConditions sets conditions by type and keeps the others as they are,
// with the generation they were observed at.
func mergeConditions(old, set []Condition, generation int64, now time.Time) ([]Condition, error) {
	merged := append([]Condition{}, old...)
	for i, c := range set {
		if err := c.check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(set[:i], c.sameType) {
			return nil, fmt.Errorf("condition %s is set twice in one patch: set it once", c.Type)
		}
		c.Message = limit.Text(c.Message, MaxMessage)
		c.ObservedGeneration = generation
		c.LastTransitionTime = now.UTC().Truncate(time.Millisecond)
		merged = c.mergeInto(merged)
	}
	if n := len(merged); n > MaxConditions {
		return nil, &LimitError{What: "the list of conditions", Limit: MaxConditions, Size: n, Unit: "conditions"}
	}
	return merged, nil
}

// mergeInto replaces the condition of the same type or adds c at the end.
func (c Condition) mergeInto(list []Condition) []Condition {
	i := slices.IndexFunc(list, c.sameType)
	if i < 0 {
		return append(list, c)
	}
	if list[i].Status == c.Status {
		c.LastTransitionTime = list[i].LastTransitionTime
	}
	list[i] = c
	return list
}

func (c Condition) sameType(other Condition) bool { return c.Type == other.Type }

func (c Condition) check() error {
	if err := ValidateName("condition type", c.Type); err != nil {
		return err
	}
	if err := validateText("reason of condition "+c.Type, c.Reason, MaxName); err != nil {
		return err
	}
	switch c.Status {
	case True, False, Unknown:
		return nil
	}
	return fmt.Errorf("condition %s has the status %.80q: it is true, false or unknown", c.Type, c.Status)
}

// patchFinalizers returns the new list; a nil patch keeps the old one.
func patchFinalizers(old, patch []string) ([]string, error) {
	if patch == nil {
		return append([]string{}, old...), nil
	}
	for i, f := range patch {
		if err := ValidateName("finalizer", f); err != nil {
			return nil, err
		}
		if slices.Contains(patch[:i], f) {
			return nil, fmt.Errorf("finalizer %s is listed twice: list it once", f)
		}
	}
	if n := len(patch); n > MaxFinalizers {
		return nil, &LimitError{What: "the list of finalizers", Limit: MaxFinalizers, Size: n, Unit: "finalizers"}
	}
	return append([]string{}, patch...), nil
}
