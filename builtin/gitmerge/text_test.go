package gitmerge

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"piworkflows/controller"
)

func TestTail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short", "all of it", 9, "all of it"},
		{"blank ends", " \n a \n ", 9, "a"},
		{"from the beginning of a line", "first\nsecond\nthird line is long", 23, "…\nthird line is long"},
		{"within a long line", "abcdefghij", 4, "…\nghij"},
		{"characters, not bytes", "ääääöööö", 4, "…\nöööö"},
		{"colours", "\x1b[1;31mFAIL\x1b[0m story\x1b]0;title\x07", 20, "FAIL story"},
		{"carriage returns and bells", "10%\r100%\r\nok\a\x00", 20, "10%100%\nok"},
		{"invalid UTF-8", "a\xffb", 20, "a\uFFFDb"},
		{"tabs", "a\tb", 20, "a\tb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := tail(test.text, test.limit); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever a check writes, its end fits into the message of a condition.
func TestJoinedFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringN(0, 300, -1)
		stream := func(name string) string {
			return strings.Repeat(line.Draw(t, name)+"\n", rapid.IntRange(0, 50).Draw(t, "n"))
		}
		got := joined(stream("stdout"), stream("stderr"))
		if n := utf8.RuneCountInString(got); n > controller.MaxMessage-1000 || !utf8.ValidString(got) {
			t.Fatalf("%d characters", n)
		}
		if strings.ContainsAny(got, "\x1b\x00\r\a") {
			t.Fatalf("control characters in %q", got)
		}
	})
}

func TestParagraphs(t *testing.T) {
	t.Parallel()
	if got := paragraphs("", "a", "", "b", ""); got != "a\nb" {
		t.Errorf("got %q", got)
	}
}
