package runbundle

import (
	"bytes"
	"encoding/json"
	"errors"
)

// The keys of the two objects that mean something in an encoded value.
const (
	artifactKey = "$artifact"
	escapedKey  = "$escaped"
)

// rewriter copies one JSON text without white space and lets two hooks replace
// parts of it. Numbers and strings that no hook touches keep their spelling.
// The text must be valid JSON.
type rewriter struct {
	in  []byte
	pos int
	out []byte
	// text may replace a string value, given with its quotes; keys are not shown.
	text func(quoted []byte) ([]byte, error)
	// single handles an object whose only key is one of the two reserved ones.
	// The cursor stands at the value of that key.
	single func(r *rewriter, key string) error
}

var errNotJSON = errors.New("not valid JSON")

// rewrite returns the rewritten copy of raw.
func rewrite(raw []byte, text func([]byte) ([]byte, error), single func(*rewriter, string) error) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	r := &rewriter{in: raw, out: make([]byte, 0, len(raw)), text: text, single: single}
	if err := r.value(); err != nil {
		return nil, err
	}
	return r.out, nil
}

func (r *rewriter) value() error {
	switch r.peek() {
	case '{':
		return r.object()
	case '[':
		return r.list(']', r.value)
	case '"':
		replaced, err := r.text(r.scan())
		r.out = append(r.out, replaced...)
		return err
	default:
		r.out = append(r.out, r.scan()...)
		return nil
	}
}

func (r *rewriter) object() error {
	if key, ok := r.reserved(); ok {
		return r.single(r, key)
	}
	return r.list('}', r.member)
}

func (r *rewriter) member() error {
	r.peek()
	r.out = append(r.out, r.scan()...)
	r.peek()
	r.pos++ // the colon
	r.out = append(r.out, ':')
	return r.value()
}

// list copies what stands between two brackets.
func (r *rewriter) list(end byte, item func() error) error {
	r.out = append(r.out, r.in[r.pos])
	r.pos++
	for r.peek() != end {
		if r.in[r.pos] == ',' {
			r.out = append(r.out, ',')
			r.pos++
		}
		if err := item(); err != nil {
			return err
		}
	}
	r.out = append(r.out, end)
	r.pos++
	return nil
}

// reserved reports whether the object under the cursor has one key only, and a
// reserved one. If so the cursor moves to its value, otherwise it stays.
func (r *rewriter) reserved() (key string, ok bool) {
	start := r.pos
	defer func() {
		if !ok {
			r.pos = start
		}
	}()
	r.pos++
	if r.peek() != '"' {
		return "", false
	}
	key = unquote(r.scan())
	if key != artifactKey && key != escapedKey {
		return "", false
	}
	r.peek()
	r.pos++ // the colon
	r.peek()
	value := r.pos
	r.scan()
	if r.peek() != '}' {
		return "", false
	}
	r.pos = value
	return key, true
}

// closeObject moves past the end of an object whose only value was read.
func (r *rewriter) closeObject() {
	r.peek()
	r.pos++
}

// peek moves to the next byte that is not white space and returns it.
func (r *rewriter) peek() byte {
	for r.in[r.pos] == ' ' || r.in[r.pos] == '\n' || r.in[r.pos] == '\t' || r.in[r.pos] == '\r' {
		r.pos++
	}
	return r.in[r.pos]
}

// scan moves past the value under the cursor and returns its text.
func (r *rewriter) scan() []byte {
	start := r.pos
	switch r.in[r.pos] {
	case '"':
		r.pos += quotedLength(r.in[r.pos:])
	case '{', '[':
		r.skipNested()
	default:
		r.pos += scalarLength(r.in[r.pos:])
	}
	return r.in[start:r.pos]
}

func (r *rewriter) skipNested() {
	depth := 0
	for {
		switch r.in[r.pos] {
		case '"':
			r.pos += quotedLength(r.in[r.pos:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.pos++
		if depth == 0 {
			return
		}
	}
}

// quotedLength returns the length of the string literal at the start of text.
func quotedLength(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// scalarLength returns the length of the number or word at the start of text.
func scalarLength(text []byte) int {
	if end := bytes.IndexAny(text, ",]} \t\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

// unquote decodes a string literal.
func unquote(quoted []byte) string {
	var text string
	_ = json.Unmarshal(quoted, &text) // it is a part of valid JSON
	return text
}
