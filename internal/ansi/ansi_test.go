package ansi

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"none":              {"a\tb\n", "a\tb\n"},
		"colours":           {"\x1b[1;31mFAIL\x1b[0m story", "FAIL story"},
		"colour by colon":   {"\x1b[38:5:1mred\x1b[m", "red"},
		"cursor":            {"10%\x1b[2K\x1b[1A100%\x1b[?25h", "10%100%"},
		"eight bit":         {"\u009b31mred", "red"},
		"title":             {"a\x1b]0;title\x07b", "ab"},
		"link":              {"\x1b]8;;https://example.com\x1b\\here\x1b]8;;\x1b\\", "here"},
		"short":             {"\x1b7a\x1b8b\x1bMc\x1b(Bd\x1b=", "abcd"},
		"cut off":           {"a\x1b", "a\x1b"},
		"cut off, sequence": {"a\x1b[1;3", "a1;3"},
		"not UTF-8":         {"\xff\x1b[mb", "\xffb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Strip(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestStripKeepsPlainText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.NewReplacer("\x1b", "", "\u009b", "").Replace(rapid.String().Draw(t, "text"))
		if got := Strip(text); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
