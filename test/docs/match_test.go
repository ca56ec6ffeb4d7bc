package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"plain", "merged 3 branches, 1 blocked", "merged 3 branches, 1 blocked"},
		{"columns and the end", "NAME     READY   \t", "NAME READY"},
		{"indentation stays", "  a   b", "  a b"},
		{"temporary path", "in /tmp/demo-123456/repo.git: ok", "in <path>/repo.git: ok"},
		{"temporary folder", "project /tmp/pi-demo-123456", "project <path>/pi-demo-#"},
		{"temporary path of macOS", `"/private/var/folders/x/T/a.git",`, `"<path>/a.git",`},
		{"path at home", "~/.pi/agent/x.sqlite", "<path>/x.sqlite"},
		{"time", "2026-01-02T03:04:05.678Z 03:04:05 2026-01-02 03:04:05Z", "<time> <time> <time>"},
		{"duration", "took 1m2.5s, then 12ms (30s)", "took <duration>, then <duration> (<duration>)"},
		{"uid", "uid 018f3b2e-7c4d-7a10-8b9c-0123456789ab", "uid <uid>"},
		{"run", "20270105T081500Z-verify-branch-0a1b2c3d ok", "<run verify-branch> ok"},
		{"sha", "deadbee..0123456789abcdef0123456789abcdef01234567", "<hex>..<hex>"},
		{"a word is no sha", "feature cafe added", "feature cafe added"},
		{"machine", "go1.26.7 linux/arm64", "<go> <platform>"},
		{"rule", "──────┬───", "---┬---"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{test.want}, normalize([]string{test.line})); diff != "" {
				t.Error(diff)
			}
			if again := normalize([]string{test.want}); again[0] != test.want {
				t.Errorf("%q becomes %q", test.want, again)
			}
		})
	}
}

func TestNormalizeDropsBlankLinesAtTheEnd(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"", "a"}, normalize([]string{"", "a", "", " "})); diff != "" {
		t.Error(diff)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want, got string
		ok        bool
	}{
		{"", "", true},
		{"a b", "a b", true},
		{"a b", "a", false},
		{"a", "a b", false},
		{"a", "b", false},
		{"", "a", false},
		{"...", "", true},
		{"...", "a b", true},
		{"a ...", "a", true},
		{"a ... d", "a b c d", true},
		{"a ... d", "a b c", false},
		{"... a b ...", "a x a b c", true},
		{"... a b", "a b x", false},
		{"... a b", "a b a b", true},
		{"a ... b ... c", "a 1 b 2 b c", true},
		{"a ... b ... c", "a c b", false},
		{"... ...", "a", true},
	}
	for _, test := range tests {
		if got := matches(strings.Fields(test.want), strings.Fields(test.got)); got != test.ok {
			t.Errorf("%q and %q: %v", test.want, test.got, got)
		}
	}
}
