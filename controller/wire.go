package controller

import (
	"time"

	"piworkflows/clock"
	"piworkflows/internal/canonical"
)

// MarshalJSON writes the times as clock.Layout and the finalizers as a list,
// also when there are none.
func (m Metadata) MarshalJSON() ([]byte, error) {
	type plain Metadata
	if m.Finalizers == nil {
		m.Finalizers = []string{}
	}
	return canonical.Marshal(struct {
		plain
		DeletionTimestamp *string `json:"deletionTimestamp,omitempty"`
	}{plain(m), wireTime(m.DeletionTimestamp)})
}

// MarshalJSON writes the time as clock.Layout.
func (c Condition) MarshalJSON() ([]byte, error) {
	type plain Condition
	return canonical.Marshal(struct {
		plain
		LastTransitionTime string `json:"lastTransitionTime"`
	}{plain(c), clock.Format(c.LastTransitionTime)})
}

// MarshalJSON writes the times as clock.Layout.
func (e EffectRecord) MarshalJSON() ([]byte, error) {
	type plain EffectRecord
	return canonical.Marshal(struct {
		plain
		StartedAt   string  `json:"startedAt"`
		CompletedAt *string `json:"completedAt,omitempty"`
	}{plain(e), clock.Format(e.StartedAt), wireTime(e.CompletedAt)})
}

// MarshalJSON writes the times as clock.Layout.
func (a EffectAttempt) MarshalJSON() ([]byte, error) {
	type plain EffectAttempt
	return canonical.Marshal(struct {
		plain
		StartedAt string  `json:"startedAt"`
		EndedAt   *string `json:"endedAt,omitempty"`
	}{plain(a), clock.Format(a.StartedAt), wireTime(a.EndedAt)})
}

func wireTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := clock.Format(*t)
	return &text
}
