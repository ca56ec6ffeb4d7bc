package workflow

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// origin is the value that a path begins at.
type origin int

const (
	noOrigin origin = iota
	fromOutput
	fromResult
)

// splitPath separates where a path begins from its parts. Nothing in a path is
// escaped: a key that contains a dot cannot be reached.
func splitPath(on string) (origin, []string) {
	head, rest, found := strings.Cut(on, ".")
	if !found {
		return noOrigin, nil
	}
	parts := strings.Split(rest, ".")
	switch head {
	case "$", "$output":
		return fromOutput, parts
	case "$result":
		return fromResult, parts
	default:
		return noOrigin, nil
	}
}

// read returns the JSON text that the switch asks for; nil if there is none.
func (s *Switch) read(r Result) json.RawMessage {
	from, parts := splitPath(s.On)
	if r.Outcome != OK {
		r.Output = nil
	}
	if from == fromOutput {
		return walk(r.Output, parts)
	}
	if parts[0] == "output" {
		return walk(r.Output, parts[1:])
	}
	r.Output = nil // may be large, and this path does not lead there
	record, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return walk(record, parts)
}

// walk follows the parts through objects and arrays.
func walk(raw json.RawMessage, parts []string) json.RawMessage {
	for _, part := range parts {
		raw = child(bytes.TrimSpace(raw), part)
	}
	return raw
}

// child returns one value of an object or array: own keys only, so that a name
// such as toString finds nothing that the text does not hold.
func child(raw json.RawMessage, part string) json.RawMessage {
	switch {
	case bytes.HasPrefix(raw, []byte{'{'}):
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		return members[part]
	case bytes.HasPrefix(raw, []byte{'['}):
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return nil
		}
		return element(elements, part)
	default:
		return nil
	}
}

func element(elements []json.RawMessage, part string) json.RawMessage {
	if part == "length" {
		return json.RawMessage(strconv.Itoa(len(elements)))
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 0 || i >= len(elements) || strconv.Itoa(i) != part {
		return nil
	}
	return elements[i]
}

// scalar returns the text that a case is compared with; ok is false for
// anything but a string, a number or a boolean.
func scalar(raw json.RawMessage) (text string, ok bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return number(v), true
	default:
		return "", false
	}
}

// number writes a number as JavaScript would. encoding/json follows the same
// rules but for the sign of zero.
func number(f float64) string {
	if f == 0 {
		return "0"
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "" // not reached: JSON text holds no number that is not finite
	}
	return string(text)
}
