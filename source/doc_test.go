package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
	"piworkflows/test/markdown"
)

// The document shows code that is compiled and run.
func TestTheDocumentShowsWhatIsCompiled(t *testing.T) {
	t.Parallel()
	document := read(t, "docs", "sources.md")
	for _, name := range []string{"fswatch", "poll", "resources", "schedule", "webhook"} {
		_, after, _ := strings.Cut(read(t, "source", name, "example_test.go"), "// "+name+":declare\n")
		want, _, found := strings.Cut(after, "// "+name+":end\n")
		if !found {
			t.Errorf("example_test.go of %s has no part between %[1]s:declare and %[1]s:end", name)
			continue
		}
		got, err := markdown.Marked(document, name, "declare")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
			t.Errorf("docs/sources.md differs from the example of %s (-code +document):\n%s", name, diff)
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
