package canonical

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	highSurrogates = 0xD800
	lowSurrogates  = 0xDC00
	endSurrogates  = 0xE000
)

// text moves past the string under the cursor and reports whether it has
// escapes.
func (s *scanner) text() (escaped bool, err *Error) {
	for s.pos++; s.pos < len(s.raw); {
		switch c := s.raw[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, nil
		case c == '\\':
			escaped, s.loose = true, true
			if err := s.escape(); err != nil {
				return false, err
			}
		case c < ' ':
			return false, s.refuse(fmt.Sprintf("control character %#02x in a string; escape it as \\u%04x", c, c))
		case c < utf8.RuneSelf:
			s.pos++
		default:
			char, size := utf8.DecodeRune(s.raw[s.pos:])
			if char == utf8.RuneError && size == 1 {
				return false, s.refuse(fmt.Sprintf("byte %#02x is not valid UTF-8; encode the text as UTF-8", c))
			}
			s.pos += size
		}
	}
	return false, s.refuse("the text ends inside a string")
}

// escape moves past one escape, or past the two that make a surrogate pair.
func (s *scanner) escape() *Error {
	if s.pos+1 >= len(s.raw) {
		return s.refuse("the text ends inside a string")
	}
	if s.raw[s.pos+1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, s.raw[s.pos+1]) < 0 {
			return s.refuse(fmt.Sprintf("unknown escape %q", s.raw[s.pos:s.pos+2]))
		}
		s.pos += 2
		return nil
	}
	unit, ok := s.unit(s.pos)
	if !ok {
		return s.refuse(`\u must be followed by four hexadecimal digits`)
	}
	if unit < highSurrogates || unit >= endSurrogates {
		s.pos += 6
		return nil
	}
	low, ok := s.unit(s.pos + 6)
	if unit >= lowSurrogates || !ok || low < lowSurrogates || low >= endSurrogates {
		return s.refuse(fmt.Sprintf(`\u%04x is half of a surrogate pair; write the whole character`, unit))
	}
	s.pos += 12
	return nil
}

// unit reads the `\uXXXX` at a position.
func (s *scanner) unit(at int) (unit uint64, ok bool) {
	if at+6 > len(s.raw) || s.raw[at] != '\\' || s.raw[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(s.raw[at+2:at+6]), 16, 16)
	return unit, err == nil
}
