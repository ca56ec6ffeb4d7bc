package workflow

import (
	"regexp"
	"slices"
	"strings"

	"piworkflows/internal/ansi"
)

// NormalText returns a text without what differs between two occurrences of the
// same failure, so that it can be a fact: colours and other escape sequences,
// dates with a time and times of day, durations, UUIDs, and the folder under a
// temporary one. Dirs are working directories that differ from run to run; each
// is replaced wherever it stands as a whole. Everything else stays, commits and
// other hexadecimal digits included, and so does a value that nobody declared as
// text by calling this.
//
// Spec: control loops, Progress and limits.
func NormalText(text string, dirs ...string) string {
	text = ansi.Strip(strings.ToValidUTF8(text, "\uFFFD"))
	for _, dir := range longestFirst(dirs) {
		text = withoutDir(text, dir)
	}
	for _, n := range normal {
		text = n.pattern.ReplaceAllString(text, n.with)
	}
	return strings.TrimSpace(text)
}

// normal are replaced in this order: a path may contain what looks like a time.
var normal = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{temporary, "${1}<tmp>"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`(?i)\b(?:` + isoTime + `|` + mailTime + `|` + logTime + `|` + clockTime + `)`), "<time>"},
	{regexp.MustCompile(`\b(?:` + duration + `)+\b|\b` + longDuration + `\b`), "<duration>"},
}

// The ways in which tools write a moment and a length of time.
const (
	seconds   = `:[0-9]{2}(?:[.,][0-9]+)?`
	minutes   = `[0-9]{2}:[0-9]{2}`
	zone      = `(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?`
	months    = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*`
	weekday   = `(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?`
	isoTime   = `[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T _]` + minutes + `(?:` + seconds + `)?` + zone + `|[0-9]{8}T[0-9]{6}` + zone
	mailTime  = weekday + `[0-9]{1,2} ` + months + ` [0-9]{4} ` + minutes + `(?:` + seconds + `)?` + zone
	logTime   = weekday + months + ` {1,2}[0-9]{1,2} ` + minutes + seconds + `(?: [0-9]{4})?` + zone
	clockTime = `[0-9]{1,2}:[0-9]{2}` + seconds + zone

	decimal      = `[0-9]+(?:\.[0-9]+)?`
	duration     = decimal + `(?:ns|us|µs|μs|ms|s|m|h)`
	longDuration = decimal + ` ?(?:ns|us|µs|μs|ms|msecs?|(?:nano|micro|milli)?seconds?|secs?|mins?|minutes?|hrs?|hours?|days?)`
)

// temporary is the folder of temporary files with the name under it, which is
// random; the first group is what stands before the path.
var temporary = regexp.MustCompile(`(^|[^A-Za-z0-9._/\\-])` +
	`(?:(?:/private)?/tmp|/var/tmp|(?:/private)?/var/folders/[^/\s]+/[^/\s]+/[TC]|[A-Za-z]:[\\/](?:[^\\/\s"':]+[\\/])*[Tt]e?mp)` +
	`[\\/]+[^\\/\s"'` + "`" + `:;,()\[\]<>]+`)

func longestFirst(dirs []string) []string {
	return slices.SortedFunc(slices.Values(dirs), func(a, b string) int { return len(b) - len(a) })
}

// withoutDir replaces a directory where it is not a part of a longer name.
func withoutDir(text, dir string) string {
	dir = strings.TrimRight(dir, `/\`)
	if dir == "" || dir == "." {
		return text
	}
	var b strings.Builder
	done := 0
	for {
		i := strings.Index(text[done:], dir)
		if i < 0 {
			return b.String() + text[done:]
		}
		begin, end := done+i, done+i+len(dir)
		b.WriteString(text[done:begin])
		if endsName(text[:begin]) || startsName(text[end:]) {
			b.WriteString(dir)
		} else {
			b.WriteString("<dir>")
		}
		done = end
	}
}

// endsName and startsName report whether the name of a file goes on where a text
// is cut. A dot at the end of a sentence is not a part of one.
func endsName(s string) bool {
	return s != "" && (nameByte(s[len(s)-1]) || strings.HasSuffix(s, "/") || strings.HasSuffix(s, `\`))
}

func startsName(s string) bool {
	s = strings.TrimPrefix(s, ".")
	return s != "" && nameByte(s[0])
}

func nameByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80 || strings.IndexByte("._-", c) >= 0
}
