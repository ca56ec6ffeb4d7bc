package controller

import (
	"encoding/json"
	"fmt"
	"time"
)

// ConditionStatus is true, false or "unknown".
type ConditionStatus string

// The values of a condition.
const (
	True    ConditionStatus = "true"
	False   ConditionStatus = "false"
	Unknown ConditionStatus = "unknown"
)

// MarshalJSON writes true and false as JSON booleans and unknown as a string.
func (s ConditionStatus) MarshalJSON() ([]byte, error) {
	switch s {
	case True, False:
		return []byte(s), nil
	case Unknown:
		return []byte(`"unknown"`), nil
	}
	return nil, fmt.Errorf("condition status %q is none of true, false, unknown", string(s))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ConditionStatus) UnmarshalJSON(b []byte) error {
	switch text := string(b); text {
	case "true", "false":
		*s = ConditionStatus(text)
		return nil
	case `"unknown"`:
		*s = Unknown
		return nil
	default:
		return fmt.Errorf("condition status %s is none of true, false, \"unknown\"", text)
	}
}

// Condition is the latest known state for one stable condition type. An author
// gives Type, Status, Reason and Message; the runtime owns the other fields.
type Condition struct {
	// Type is stable, for example Ready. Reason is one CamelCase word.
	Type   string          `json:"type"`
	Status ConditionStatus `json:"status"`
	Reason string          `json:"reason"`
	// Message is for people, at most MaxMessage characters (longer ones are cut).
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the generation of the pass that set the condition.
	ObservedGeneration int64 `json:"observedGeneration"`
	// LastTransitionTime changes only when Status changes.
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// ConditionTrue returns a condition that holds.
func ConditionTrue(kind, reason, message string) Condition {
	return Condition{Type: kind, Status: True, Reason: reason, Message: message}
}

// ConditionFalse returns a condition that does not hold.
func ConditionFalse(kind, reason, message string) Condition {
	return Condition{Type: kind, Status: False, Reason: reason, Message: message}
}

// ConditionUnknown returns a condition whose state is not known.
func ConditionUnknown(kind, reason, message string) Condition {
	return Condition{Type: kind, Status: Unknown, Reason: reason, Message: message}
}

// Ready is the condition type that listings show.
const Ready = "Ready"

// Readiness is the computed answer to "is it ready": the Ready condition,
// unless it comes from an older generation.
type Readiness struct {
	Status  ConditionStatus `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message"`
}

// Reasons of a computed readiness.
const (
	ReasonNotObserved        = "NotObserved"
	ReasonOutdatedGeneration = "OutdatedGeneration"
	ReasonNoReadyCondition   = "NoReadyCondition"
)

// ReadinessOf computes the readiness of a resource. A condition that is older
// than the generation is never shown as ready.
//
// Spec: Resource model, observedGeneration.
func ReadinessOf[S, T any](r Resource[S, T]) Readiness {
	for _, c := range r.Status.Conditions {
		if c.Type != Ready {
			continue
		}
		if c.ObservedGeneration < r.Metadata.Generation {
			return Readiness{Unknown, ReasonOutdatedGeneration,
				fmt.Sprintf("condition is of generation %d, the spec of %d", c.ObservedGeneration, r.Metadata.Generation)}
		}
		return Readiness{c.Status, c.Reason, c.Message}
	}
	if r.Status.ObservedGeneration == 0 {
		return Readiness{Unknown, ReasonNotObserved, "no pass has ended yet"}
	}
	return Readiness{Unknown, ReasonNoReadyCondition, "the controller sets no Ready condition"}
}

var (
	_ json.Marshaler   = ConditionStatus("")
	_ json.Unmarshaler = (*ConditionStatus)(nil)
)
