package docs

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// anyLines is the line that stands for any number of lines.
const anyLines = "..."

var (
	tempPath = regexp.MustCompile(`(?:~|(?:/private)?/(?:tmp|var/folders))/[^\s"',:;()]*`)
	serial   = regexp.MustCompile(`\d{4,}`)
	columns  = regexp.MustCompile(`(\S)[ \t]+`)
)

// kinds are what differs from run to run and from machine to machine. The order
// matters: a run ID holds a stamp and a hex number.
var kinds = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b\d{8}T\d{6}Z-([a-z0-9-]+)-[0-9a-f]{8}\b`), "<run $1>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uid>"},
	{regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})`), "<time>"},
	{regexp.MustCompile(`\b\d{2}:\d{2}:\d{2}(?:\.\d+)?\b`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{7,64}\b`), "<hex>"},
	{regexp.MustCompile(`\bgo1\.\d+(?:\.\d+)?\b`), "<go>"},
	{regexp.MustCompile(`\b(?:linux|darwin|windows)/(?:amd64|arm64)\b`), "<platform>"},
	{regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h|d))+\b`), "<duration>"},
	{regexp.MustCompile(`[─━═-]{3,}`), "---"},
}

// normalize replaces what differs from run to run by its kind: paths in
// temporary and home folders (their last element stays), times, durations, IDs
// and hashes, and the width of columns. Blank lines at the end do not count.
func normalize(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		line = tempPath.ReplaceAllStringFunc(line, func(p string) string {
			return "<path>/" + serial.ReplaceAllString(path.Base(p), "#")
		})
		for _, k := range kinds {
			line = k.pattern.ReplaceAllString(line, k.name)
		}
		out[i] = columns.ReplaceAllString(line, "$1 ")
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// matches compares normalized lines; anyLines in want matches any lines. It
// goes back to the last anyLines and lets it take one line more when the lines
// after it do not fit.
func matches(want, got []string) bool {
	w, g, wild, taken := 0, 0, -1, 0
	for g < len(got) {
		switch {
		case w < len(want) && want[w] == anyLines:
			wild, taken = w, g
			w++
		case w < len(want) && want[w] == got[g]:
			w++
			g++
		case wild >= 0:
			taken++
			w, g = wild+1, taken
		default:
			return false
		}
	}
	return !slices.ContainsFunc(want[w:], func(line string) bool { return line != anyLines })
}
