package canonical

import (
	"bytes"
	"math"
	"strconv"
)

const (
	// maxExact is 2^53: up to here a float64 holds every integer. Beyond it
	// all float64 values are integers, so one bound serves all spellings.
	maxExact = 1 << 53
	// maxExactDigits are the significant digits of maxExact.
	maxExactDigits = "9007199254740992"
	// safeDigits is a number of digits that always stays below maxExact.
	safeDigits = 15
)

// number moves past the number under the cursor.
func (s *scanner) number() *Error {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	whole := s.pos
	if s.digits(); s.pos == whole {
		return s.unexpected("a digit")
	}
	if s.raw[whole] == '0' && s.pos-whole > 1 {
		s.pos = whole
		return s.refuse("a number must not start with 0; drop the leading zeros")
	}
	wholeDigits := s.pos - whole
	exponent, err := s.fraction()
	if err != nil {
		return err
	}
	literal := s.raw[start:s.pos]
	s.loose = s.loose || s.pos > whole+wholeDigits
	if !exponent && wholeDigits <= safeDigits && s.raw[whole] != '0' {
		return nil
	}
	if reason := inexact(literal); reason != "" {
		s.pos = start
		return s.refuse(reason)
	}
	return nil
}

// fraction moves past the fraction and the exponent, if there are any.
func (s *scanner) fraction() (exponent bool, err *Error) {
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return false, s.unexpected("a digit")
		}
	}
	if c := s.peek(); c != 'e' && c != 'E' {
		return false, nil
	}
	s.pos++
	if c := s.peek(); c == '+' || c == '-' {
		s.pos++
	}
	if !s.digits() {
		return true, s.unexpected("a digit")
	}
	return true, nil
}

// digits reports whether there were any.
func (s *scanner) digits() bool {
	start := s.pos
	for isDigit(s.peek()) {
		s.pos++
	}
	return s.pos > start
}

// inexact says why a well-formed number must not be read as a float64.
func inexact(literal []byte) (reason string) {
	value, err := strconv.ParseFloat(string(literal), 64)
	switch magnitude := math.Abs(value); {
	case err != nil || magnitude > maxExact,
		magnitude == maxExact && significant(literal) != maxExactDigits:
		return "the number is beyond ±2^53 and would not be read exactly everywhere; " +
			"write large integers as strings"
	case value == 0 && math.Signbit(value):
		return "negative zero is not kept by every reader; write 0"
	}
	return ""
}

// significant returns the digits of a number that carry its value, without
// sign, point, exponent and outer zeros.
func significant(literal []byte) string {
	if end := bytes.IndexAny(literal, "eE"); end >= 0 {
		literal = literal[:end]
	}
	digits := bytes.ReplaceAll(bytes.TrimPrefix(literal, []byte("-")), []byte("."), nil)
	return string(bytes.Trim(digits, "0"))
}
