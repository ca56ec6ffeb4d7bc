package limit

import (
	"strings"
	"unicode/utf8"
)

// Text makes a text storable: valid UTF-8 of a number of characters, one or more,
// that it does not exceed. An ellipsis stands for what was cut off.
func Text(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := 0
	for i := range text {
		if runes == most-1 {
			return text[:i] + "…"
		}
		runes++
	}
	return text
}
