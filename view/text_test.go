package view

import "testing"

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                          "plain",
		"a\nb\tc\r\nd":                   "a b c d",
		"\x1b[31mred\x1b[0m":             "red",
		"\x1b]0;title\x07text":           "text",
		"bell\x07 back\bspace":           "bell\uFFFD back\uFFFDspace",
		"turned \u202eround\u2066":       "turned \uFFFDround\uFFFD",
		"\xff\xfe":                       "\uFFFD",
		"\u65e5\u672c":                   "\u65e5\u672c",
		"  many   blanks  ":              "many blanks",
		"\x1b]8;;http://x\x1b\\link\x1b": "link",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPlainLinesKeepsLinesAndIndentation(t *testing.T) {
	t.Parallel()
	if got, want := PlainLines("a:\r\n\tb\x1b[1m!\n\n"), "a:\n b!"; got != want {
		t.Errorf("PlainLines = %q, want %q", got, want)
	}
}

func TestPlainOutputKeepsTabsAndBeginsLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\n\n c\n":               "a\tb\n\n c\n",
		"10%\r20%\r\ndone":           "10%\n20%\ndone",
		"\x1b[2K\x1b[31mred\x1b[0m":  "red",
		"\x1b]0;a\tb\x07c\x07d\x1be": "c\uFFFDd",
		"\u202e\xff\x00\x7f\u0085":   "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
	} {
		if got := PlainOutput(in); got != want {
			t.Errorf("PlainOutput(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFitCountsCells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"\u65e5\u672c\u8a9e", 5, "\u65e5\u672c…"},
		{"x", 0, ""},
		{"x", -3, ""},
	} {
		if got := Fit(c.in, c.cells); got != c.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", c.in, c.cells, got, c.want)
		}
	}
}
