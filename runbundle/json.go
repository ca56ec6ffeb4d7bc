package runbundle

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encodeJSON returns the compact JSON text of a value and leaves the characters
// of HTML as they are, as other writers of the format do.
func encodeJSON(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// indented returns a compact JSON text as people read it, for a place that is
// already that far to the right.
func indented(raw []byte, margin string) []byte {
	var text bytes.Buffer
	if err := json.Indent(&text, raw, margin, "  "); err != nil {
		return raw // not JSON; whoever decodes it says so
	}
	return text.Bytes()
}

// compact returns a JSON text without white space.
func compact(raw []byte) (json.RawMessage, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	return text.Bytes(), nil
}
