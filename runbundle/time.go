package runbundle

import (
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/clock"
)

// Time is a point in time as a bundle keeps it: UTC, whole milliseconds. Its
// JSON always has three fractional digits, because readers compare times as
// texts.
type Time struct{ time.Time }

// At rounds a time down to what a bundle keeps.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// String returns the text of the format.
func (t Time) String() string { return clock.Format(t.Time) }

// MarshalJSON writes the text of the format.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("a time must be a text: %w", err)
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("read a time: %w", err)
	}
	*t = At(parsed)
	return nil
}
