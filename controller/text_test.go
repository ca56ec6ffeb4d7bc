package controller

import (
	"errors"
	"strings"
	"testing"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"short", "abc", "abc"},
		{"exactly", "abcde", "abcde"},
		{"too long", "abcdef", "abcd…"},
		{"counts characters, not bytes", "äöüßé", "äöüßé"},
		{"cuts between characters", "äöüßéx", "äöüß…"},
		{"mends text that is no UTF-8", "a\xffb", "a\uFFFDb"},
		{"empty", "", ""},
	}
	for _, test := range tests {
		if got := truncate(test.text, 5); got != test.want {
			t.Errorf("%s: truncate(%q) = %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

// broken is an error whose method cannot be called.
type broken struct{ inner error }

func (b *broken) Error() string { return b.inner.Error() }

func TestErrorTextSurvivesAnErrorThatPanics(t *testing.T) {
	t.Parallel()
	if got := errorText(&broken{}); !strings.Contains(got, "PANIC") {
		t.Errorf("errorText = %q", got)
	}
	if got := errorText(errors.New(strings.Repeat("x", MaxError+1))); len([]rune(got)) != MaxError {
		t.Errorf("a long error has %d characters", len([]rune(got)))
	}
}
