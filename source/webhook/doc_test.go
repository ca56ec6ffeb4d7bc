package webhook_test

import (
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
	code, err := repo.Read("source/webhook/refusal.go")
	if err != nil {
		t.Fatal(err)
	}
	document, err := repo.Read("docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, match := range refusalInCode.FindAllStringSubmatch(code, -1) {
		want[match[2]] = match[1]
	}
	got := map[string]string{}
	for _, match := range refusalInDocument.FindAllStringSubmatch(document, -1) {
		got[match[3]] = strings.ReplaceAll(match[2], " ", "")
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("docs/sources.md differs from refusal.go (-code +document):\n%s", diff)
	}
}
