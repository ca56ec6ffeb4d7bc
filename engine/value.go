package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/secret"
	"piworkflows/workflow"
)

// maxErrorText bounds the text of an error in the record, in bytes: enough for
// the end of a command's output.
const maxErrorText = 8 << 10

// valueOf returns the JSON text of what a callback returned: raw text as it is,
// everything else through encoding/json; nothing is null.
func valueOf(what string, v any) (json.RawMessage, error) {
	if raw, isRaw := v.(json.RawMessage); isRaw {
		return checked(what, raw)
	}
	raw, err := canonical.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return checked(what, raw)
}

// checked returns a JSON text without white space if it is one that every
// reader understands and that is not too large. No text is null.
// Spec: workflow engine, JSON rules.
func checked(what string, raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return json.RawMessage("null"), nil
	}
	if err := canonical.Check(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return compact.Bytes(), limit.Bytes(what, compact.Bytes(), workflow.MaxValueBytes)
}

// textOf returns the text of an error as the record keeps it.
func textOf(err error) string { return shorten(secret.Redact(err.Error()), maxErrorText) }

// shorten makes a text valid UTF-8 of at most max bytes. It keeps both ends:
// the beginning says what failed, the end of an output says why.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	const gap = "\n…\n"
	half := (most - len(gap)) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
