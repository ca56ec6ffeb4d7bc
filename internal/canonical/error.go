package canonical

import (
	"fmt"
	"strings"
)

// maxShownPointer bounds how much of a pointer an error message repeats: keys
// come from outside and may be long. [Error.Pointer] itself is complete.
const maxShownPointer = 200

// Error says which place of a JSON text was refused and why.
type Error struct {
	// Pointer is the RFC 6901 JSON pointer of the place; "" is the root.
	Pointer string
	// Reason says what is wrong and, where there is one, the next step.
	Reason string
	// Offset is the byte offset in the text at which the problem was found.
	// It is 0 when the text itself is well formed and only does not fit, or
	// when a Go value had no JSON text at all.
	Offset int64
}

// Error names the place, the reason and the next step in one line.
func (e *Error) Error() string {
	place := "at the root"
	if e.Pointer != "" {
		place = "at " + shorten(e.Pointer, maxShownPointer)
	}
	if e.Offset > 0 {
		place = fmt.Sprintf("%s (byte %d)", place, e.Offset)
	}
	return "invalid JSON " + place + ": " + e.Reason
}

// shorten keeps at most limit bytes of text and never cuts a character.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// pointer joins path tokens to a JSON pointer (RFC 6901, section 3).
func pointer(tokens []string) string {
	var text strings.Builder
	for _, token := range tokens {
		text.WriteByte('/')
		text.WriteString(pointerEscaper.Replace(token))
	}
	return text.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
