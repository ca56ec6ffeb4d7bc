package secret

import (
	"bytes"
	"encoding/json"

	"piworkflows/internal/canonical"
)

// Redact returns a text with [Mask] for every secret that this process has
// resolved, also for one of which the end was cut off. Redact before you cut: of
// one whose beginning was cut off, nothing can be seen.
func Redact(text string) string { return process.text(text) }

// RedactJSON is [Redact] for JSON: it looks into the strings and the names of
// fields, and what it returns is JSON. A text without secrets comes back as it is.
func RedactJSON(raw json.RawMessage) json.RawMessage { return process.json(raw) }

// Check returns a *LeakError if a JSON value, named by what, contains a secret. It
// is for values that cannot be masked, because they mean something.
func Check(what string, raw json.RawMessage) error {
	if !bytes.Equal(process.json(raw), raw) {
		return &LeakError{What: what}
	}
	return nil
}

// CheckText is [Check] for a text.
func CheckText(what, text string) error {
	if process.text(text) != text {
		return &LeakError{What: what}
	}
	return nil
}

// Begun returns how many bytes at the end of a text, which comes piece by piece,
// have to be held back until the next piece, because a secret may begin there.
func Begun(text string) int { return process.begun(text) }

// json masks string by string; between them there is nothing to hide.
func (r *redactor) json(raw json.RawMessage) json.RawMessage {
	if r.known.Load() == nil {
		return raw
	}
	var out []byte
	from := 0
	for at := 0; at < len(raw); {
		open := bytes.IndexByte(raw[at:], '"')
		if open < 0 {
			break
		}
		start := at + open
		at = start + stringLength(raw[start:])
		if masked, changed := r.literal(raw[start:at]); changed {
			out = append(append(out, raw[from:start]...), masked...)
			from = at
		}
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// stringLength returns the length of the string literal that a text begins with.
func stringLength(raw []byte) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// literal masks one string, and reports whether there was something to mask.
func (r *redactor) literal(quoted []byte) ([]byte, bool) {
	var text string
	if !bytes.ContainsRune(quoted, '\\') {
		text = string(bytes.Trim(quoted, `"`))
	} else if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, false // it is no JSON
	}
	masked := r.text(text)
	if masked == text {
		return nil, false
	}
	again, err := canonical.Marshal(masked)
	return again, err == nil
}
