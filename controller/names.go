package controller

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	controllerPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	namePattern       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
)

// ValidateRef refuses, with a *NameError, a reference that no resource can
// have: see Ref for the rules.
func ValidateRef(r Ref) error {
	if err := ValidateController(r.Controller); err != nil {
		return err
	}
	return ValidateKey("resource key", r.Key)
}

// ValidateController refuses, with a *NameError, what is no name of a
// controller: ^[a-z][a-z0-9-]*$, at most MaxName characters.
func ValidateController(name string) error {
	return matchName("controller name", name, controllerPattern,
		"begin with a lower-case letter and go on with lower-case letters, digits and -")
}

// ValidateName refuses, with a *NameError, what is no name of an effect kind,
// a finalizer, a condition type or a source: ^[A-Za-z][A-Za-z0-9_.-]*$, at most
// MaxName characters. what names the kind in the error.
func ValidateName(what, name string) error {
	return matchName(what, name, namePattern, "begin with a letter and go on with letters, digits, _, . and -")
}

// ValidateKey refuses, with a *NameError, what is no key of a resource, an
// effect or a child request, nor the name of a workflow: 1 to MaxKey UTF-16
// code units of valid UTF-8 without control characters. what names the kind in
// the error.
func ValidateKey(what, key string) error {
	return validateText(what, key, MaxKey)
}

func matchName(what, name string, pattern *regexp.Regexp, rule string) error {
	if pattern.MatchString(name) && len(name) <= MaxName {
		return nil
	}
	if len(name) > MaxName {
		rule = atMost(MaxName, len(name))
	}
	return &NameError{What: what, Value: name, Rule: rule}
}

func atMost(limit, size int) string {
	return fmt.Sprintf("it has %d characters and may have %d", size, limit)
}

func validateText(what, text string, limit int) error {
	var rule string
	switch {
	case text == "":
		rule = "it must not be empty"
	case !utf8.ValidString(text):
		rule = "it must be valid UTF-8"
	case utf16Len(text) > limit:
		rule = atMost(limit, utf16Len(text))
	case strings.ContainsFunc(text, isControl):
		rule = "it must not have control characters"
	default:
		return nil
	}
	return &NameError{What: what, Value: text, Rule: rule}
}

// isControl names the characters that would break a line or a terminal.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// utf16Len counts as the TypeScript implementation does, so that both accept
// the same keys.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
