package webhook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
)

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
