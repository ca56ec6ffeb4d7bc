package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"piworkflows/internal/canonical"
)

// mergePatch applies a JSON merge patch (RFC 7386): members of the patch
// replace those of the target, null removes one, and all that is no object is
// replaced whole. Both texts are checked first, so the depth is bounded.
func mergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	t, err := generic(target)
	if err != nil {
		return nil, fmt.Errorf("the value to patch: %w", err)
	}
	p, err := generic(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	text, err := canonical.Marshal(merged(t, p))
	if err != nil {
		return nil, fmt.Errorf("the patched value: %w", err)
	}
	return text, nil
}

// generic decodes a checked text; numbers stay text.
func generic(text json.RawMessage) (any, error) {
	if err := canonical.Check(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return v, nil
}

func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(object, name)
			continue
		}
		object[name] = merged(object[name], change)
	}
	return object
}
