package webhook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
	"piworkflows/test/markdown"
)

// The document shows the code that is compiled here.
func TestTheDocumentShowsWhatIsCompiled(t *testing.T) {
	t.Parallel()
	source := read(t, "source", "webhook", "example_test.go")
	_, after, _ := strings.Cut(source, "// webhook:declare\n")
	want, _, found := strings.Cut(after, "// webhook:end\n")
	if !found {
		t.Fatal("example_test.go has no part between webhook:declare and webhook:end")
	}
	got, err := markdown.Marked(read(t, "docs", "sources.md"), "webhook", "declare")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("docs/sources.md differs from example_test.go (-code +document):\n%s", diff)
	}
}

var (
	refusalInCode     = regexp.MustCompile(`status: http\.Status(\w+), code: "(\w+)"`)
	refusalInDocument = regexp.MustCompile("(?m)^\\| (\\d+) ([A-Za-z -]+) \\| `(\\w+)` \\|")
)

// The document has every refusal.
func TestTheDocumentHasEveryRefusal(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, match := range refusalInCode.FindAllStringSubmatch(read(t, "source", "webhook", "refusal.go"), -1) {
		want[match[2]] = match[1]
	}
	got := map[string]string{}
	for _, match := range refusalInDocument.FindAllStringSubmatch(read(t, "docs", "sources.md"), -1) {
		got[match[3]] = strings.ReplaceAll(match[2], " ", "")
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("docs/sources.md differs from refusal.go (-code +document):\n%s", diff)
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
