package canonical

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted. It
// keeps every recursive reader behind [Check] far from the end of its stack.
const MaxDepth = 512

// fewKeys is the number of keys up to which comparing one by one is cheaper
// than keeping a set.
const fewKeys = 16

// Check reports whether raw is one JSON value that every reader understands in
// the same way. It refuses, always with an [*Error]:
//
//   - text that is not exactly one JSON value in valid UTF-8 (RFC 8259),
//   - an object with the same key twice,
//   - an escape of a lone surrogate,
//   - a number beyond ±2^53, where a float64 no longer holds every integer,
//   - a negative zero, which JSON readers do not agree on,
//   - nesting deeper than [MaxDepth].
//
// It reads the text once, without recursion.
func Check(raw []byte) error {
	s := scanner{cursor: cursor{raw: raw}}
	if err := s.document(); err != nil {
		return err
	}
	return nil
}

// scanner reads one JSON text. The stack holds the open arrays and objects; the
// keys of all open objects lie on one slice, innermost last.
type scanner struct {
	cursor
	stack  []frame
	keys   []string
	naming bool // a key is being read: the innermost member has no name yet
	// loose says that the text may not be canonical: it has space, an escape, a
	// number that is not just digits, or keys in another order or not in ASCII.
	loose bool
}

// frame is one open array or object.
type frame struct {
	object   bool
	index    int                 // of the present array element
	key      string              // of the present object member
	firstKey int                 // where the keys of this object start in scanner.keys
	seen     map[string]struct{} // only once there are more than fewKeys
}

func (s *scanner) document() *Error {
	for more := true; more; {
		opened, err := s.value()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		if more, err = s.next(); err != nil {
			return err
		}
	}
	if s.space(); s.pos < len(s.raw) {
		return s.refuse("there is more text after the value; write exactly one JSON value")
	}
	return nil
}

// value reads a scalar, an empty container, or the start of a container. In the
// last case opened is true and the scanner stands before the first inner value.
func (s *scanner) value() (opened bool, err *Error) {
	s.space()
	switch c := s.peek(); {
	case c == '{' || c == '[':
		return s.open(c == '{')
	case c == '"':
		_, err = s.text()
	case c == '-' || isDigit(c):
		err = s.number()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	default:
		err = s.unexpected("a value")
	}
	return false, err
}

func (s *scanner) space() {
	start := s.pos
	s.cursor.space()
	s.loose = s.loose || s.pos > start
}

func (s *scanner) open(object bool) (opened bool, err *Error) {
	if len(s.stack) == MaxDepth {
		return false, s.refuse(fmt.Sprintf("nested deeper than %d levels; flatten the value", MaxDepth))
	}
	s.pos++
	s.stack = append(s.stack, frame{object: object, firstKey: len(s.keys)})
	s.space()
	if s.peek() == closer(object) {
		s.close()
		return false, nil
	}
	if object {
		return true, s.key()
	}
	return true, nil
}

func (s *scanner) close() {
	s.pos++
	top := len(s.stack) - 1
	s.keys = s.keys[:s.stack[top].firstKey]
	s.stack = s.stack[:top]
}

// next goes on after a finished value: it closes what ends here and reports
// whether another value follows.
func (s *scanner) next() (more bool, err *Error) {
	for len(s.stack) > 0 {
		top := &s.stack[len(s.stack)-1]
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			if top.object {
				s.space()
				return true, s.key()
			}
			top.index++
			return true, nil
		case closer(top.object):
			s.close()
		default:
			return false, s.unexpected(fmt.Sprintf("',' or '%c'", closer(top.object)))
		}
	}
	return false, nil
}

// key reads `"name":` and refuses a name that the object already has.
func (s *scanner) key() *Error {
	s.naming = true
	top := &s.stack[len(s.stack)-1]
	if s.peek() != '"' {
		return s.unexpected("an object key in double quotes")
	}
	start := s.pos
	escaped, err := s.text()
	if err != nil {
		return err
	}
	top.key = unquote(s.raw[start:s.pos], escaped)
	s.naming = false
	s.loose = s.loose || !isASCII(top.key) || s.descends(top)
	if s.duplicate(top) {
		s.pos = start
		return s.refuse("the object has this key twice; keep one of them")
	}
	s.space()
	if s.peek() != ':' {
		return s.unexpected("':' after the key")
	}
	s.pos++
	return nil
}

// descends reports whether the present key of the object belongs before the last one.
func (s *scanner) descends(object *frame) bool {
	last := len(s.keys) - 1
	return last >= object.firstKey && s.keys[last] > object.key
}

// duplicate remembers the present key of the object and reports whether it was
// there before.
func (s *scanner) duplicate(object *frame) bool {
	known := s.keys[object.firstKey:]
	s.keys = append(s.keys, object.key)
	if len(known) < fewKeys {
		return slices.Contains(known, object.key)
	}
	if object.seen == nil {
		object.seen = make(map[string]struct{}, 4*fewKeys)
		for _, key := range known {
			object.seen[key] = struct{}{}
		}
	}
	_, found := object.seen[object.key]
	object.seen[object.key] = struct{}{}
	return found
}

func (s *scanner) literal(word string) *Error {
	end := s.pos + len(word)
	if end > len(s.raw) || string(s.raw[s.pos:end]) != word {
		return s.unexpected("a value")
	}
	s.pos = end
	return nil
}

// refuse names the place where the scanner stands.
func (s *scanner) refuse(reason string) *Error {
	named := s.stack
	if s.naming {
		named = named[:len(named)-1]
	}
	tokens := make([]string, len(named))
	for i, open := range named {
		tokens[i] = strconv.Itoa(open.index)
		if open.object {
			tokens[i] = open.key
		}
	}
	return &Error{Pointer: pointer(tokens), Reason: reason, Offset: int64(s.pos)}
}

func (s *scanner) unexpected(wanted string) *Error {
	if s.pos >= len(s.raw) {
		return s.refuse("the text ends where " + wanted + " is expected")
	}
	return s.refuse(fmt.Sprintf("expected %s, found %q", wanted, s.raw[s.pos:s.pos+1]))
}

func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

// unquote decodes a string that was already checked.
func unquote(quoted []byte, escaped bool) string {
	if !escaped {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	// A checked string always decodes; there is no error to hand on.
	_ = json.Unmarshal(quoted, &text)
	return text
}
