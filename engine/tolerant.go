package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"piworkflows/internal/canonical"
)

// maxStarts bounds the places of a text at which a JSON value is looked for, so
// that a text of brackets costs no more than that many looks at it.
const maxStarts = 64

// tolerant finds the JSON value that an agent meant with a text: the whole of
// it, else what its first code fence holds, else the first object or array that
// stands in it. The value is well formed, or nested too deep to look closer; the
// caller checks all else. The error says why there is none.
//
// Spec: workflow engine, Tolerant parsing of a string submission.
func tolerant(text string) (json.RawMessage, error) {
	text = strings.TrimFunc(text, blank)
	if text == "" {
		return nil, errors.New("it is empty")
	}
	candidates := []string{text}
	if inside, found := fenced(text); found {
		candidates = append(candidates, inside)
	}
	for _, candidate := range candidates {
		if value, found := whole(candidate); found {
			return value, nil
		}
	}
	if value, found := embedded(text); found {
		return value, nil
	}
	return nil, whyNot(candidates)
}

// blank reports white space; a byte order mark is some, too.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// whole takes a text that is one JSON value.
func whole(text string) (json.RawMessage, bool) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), true
	}
	// The reader has a depth at which it gives up. What is refused as too deep
	// must not pass as plain text.
	if end, depth := balanced(text); end == len(text) && depth > canonical.MaxDepth {
		return json.RawMessage(text), true
	}
	return nil, false
}

const fence = "```"

// fenced returns the content of the first code fence, if it is closed.
func fenced(text string) (inside string, found bool) {
	_, rest, found := strings.Cut(text, fence)
	if !found {
		return "", false
	}
	const tag = "json"
	if len(rest) > len(tag) && strings.EqualFold(rest[:len(tag)], tag) && strings.ContainsAny(rest[len(tag):len(tag)+1], " \t\r\n") {
		rest = rest[len(tag):]
	}
	inside, _, found = strings.Cut(rest, fence)
	return strings.TrimFunc(inside, blank), found
}

// embedded returns the first object or array in a text of other things.
func embedded(text string) (json.RawMessage, bool) {
	at := 0
	for range maxStarts {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		if end, _ := balanced(text[at:]); end > 0 {
			if value, found := whole(text[at : at+end]); found {
				return value, true
			}
		}
		at++
	}
	return nil, false
}

// balanced returns where the object or array ends with which a text begins, and
// how deep it is nested; zero if it does not end.
func balanced(text string) (end, depth int) {
	var open []byte
	quoted, escaped := false, false
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '{' || c == '[':
			open = append(open, c+2) // in ASCII each closes the bracket two before it
			depth = max(depth, len(open))
		case len(open) == 0:
			return 0, 0
		case c == '"':
			quoted = true
		case c == '}' || c == ']':
			if c != open[len(open)-1] {
				return 0, 0
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i + 1, depth
			}
		}
	}
	return 0, 0
}

// whyNot tells what is wrong with the candidate that was meant as JSON.
func whyNot(candidates []string) error {
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate, "{") || strings.HasPrefix(candidate, "[") {
			return canonical.Check([]byte(candidate))
		}
	}
	return errors.New("there is no JSON object or array in it")
}
