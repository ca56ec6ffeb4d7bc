package testkit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/golden"
)

// shown finds the code that the document shows of welcome_test.go.
var shown = regexp.MustCompile("(?s)<!-- welcome:([a-z]+) -->\n```go\n(.*?)```")

// The document shows the test that runs.
func TestTheDocumentShowsWhatRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "testing.md")
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := partsOf(t)
	want := shown.ReplaceAllStringFunc(string(document), func(block string) string {
		name := shown.FindStringSubmatch(block)[1]
		if parts[name] == "" {
			t.Errorf("welcome_test.go has no part %s", name)
		}
		defer delete(parts, name)
		return "<!-- welcome:" + name + " -->\n```go\n" + parts[name] + "```"
	})
	if golden.Update() {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(document)); diff != "" {
		t.Errorf("docs/testing.md differs from welcome_test.go (-test +document), run with -update:\n%s", diff)
	}
	for name := range parts {
		t.Errorf("docs/testing.md does not show the part %s", name)
	}
}

// partsOf returns the parts of welcome_test.go that are for the document.
func partsOf(t *testing.T) map[string]string {
	t.Helper()
	source, err := os.ReadFile("welcome_test.go")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	marked := strings.Split(string(source), "\n// welcome:")
	for _, part := range marked[1:] {
		name, text, _ := strings.Cut(part, "\n")
		if name != "end" {
			parts[name] = strings.TrimSpace(text) + "\n"
		}
	}
	return parts
}
