package controller

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// truncate makes text storable: valid UTF-8 of at most limit characters. What
// was cut off is marked with an ellipsis.
func truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := 0
	for i := range text {
		if runes == limit-1 {
			return text[:i] + "…"
		}
		runes++
	}
	return text
}

// errorText makes the text of an author's error storable. It goes through fmt,
// which survives an Error method that panics.
func errorText(err error) string { return truncate(fmt.Sprint(err), MaxError) }
