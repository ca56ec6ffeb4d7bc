// Package wording has the turns of phrase that messages of several rooms share.
package wording

import (
	"strconv"
	"strings"
	"unicode"
)

// Because is a reason as the end of a sentence; nothing if there is none.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// OrSomebody is a name, or "somebody" where nobody gave one.
func OrSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}

// Count writes how many of something there are, one or many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Argument writes one argument of a command so that a shell takes it as it is.
func Argument(text string) string {
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// special reports whether a shell may make something else of a character.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@,+=%", r)
}
