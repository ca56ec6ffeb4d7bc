package sqlite

import (
	"strings"
	"unicode/utf8"
)

// cut makes text storable: valid UTF-8 of at most limit characters. An ellipsis
// stands for what was cut off.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// orNull stores an empty text as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
