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
	for name, dir := range map[string]string{
		"own": "", "fswatch": "fswatch", "poll": "poll", "resources": "resources", "schedule": "schedule", "webhook": "webhook",
	} {
		_, after, _ := strings.Cut(read(t, "source", dir, "example_test.go"), "// "+name+":declare\n")
		want, _, found := strings.Cut(after, "// "+name+":end\n")
		if !found {
			t.Errorf("source/%s/example_test.go has no part between %s:declare and %[2]s:end", dir, name)
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
