package limit_test

import (
	"testing"

	"piworkflows/internal/limit"
)

func TestText(t *testing.T) {
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
		if got := limit.Text(test.text, 5); got != test.want {
			t.Errorf("%s: Text(%q) = %q, want %q", test.name, test.text, got, test.want)
		}
	}
}
