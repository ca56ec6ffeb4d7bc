package canonical

import "unicode/utf8"

// cursor is a position in a JSON text.
type cursor struct {
	raw []byte
	pos int
}

// peek returns the byte under the cursor, or 0 at the end. A real 0 byte is
// never valid outside of a string, so the two need not be told apart.
func (c *cursor) peek() byte {
	if c.pos < len(c.raw) {
		return c.raw[c.pos]
	}
	return 0
}

func (c *cursor) space() {
	for c.pos < len(c.raw) {
		switch c.raw[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// skipText moves past a checked string and reports whether it has escapes.
func (c *cursor) skipText() (escaped bool) {
	for c.pos++; c.raw[c.pos] != '"'; c.pos++ {
		if c.raw[c.pos] == '\\' {
			escaped = true
			c.pos++
		}
	}
	c.pos++
	return escaped
}

// skipValue moves past a checked value and returns its text.
func (c *cursor) skipValue() []byte {
	start, depth := c.pos, 0
	for c.pos < len(c.raw) {
		switch c.raw[c.pos] {
		case '"':
			c.skipText()
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		default:
			c.skipPlain()
		}
		if depth == 0 {
			break
		}
	}
	return c.raw[start:c.pos]
}

// skipPlain moves past a number, a literal word, or what stands between values.
func (c *cursor) skipPlain() {
	for c.pos++; c.pos < len(c.raw); c.pos++ {
		switch c.raw[c.pos] {
		case '"', '{', '[', '}', ']', ',', ' ', '\t', '\n', '\r':
			return
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
