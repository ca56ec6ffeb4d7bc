package source_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
	"piworkflows/test/markdown"
)

// The document shows code that is compiled and run.
func TestTheDocumentShowsWhatIsCompiled(t *testing.T) {
	t.Parallel()
	document, err := repo.Read("docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"own": "", "fswatch": "fswatch", "poll": "poll", "resources": "resources", "schedule": "schedule", "webhook": "webhook",
	} {
		example, err := repo.Read(path.Join("source", dir, "example_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(example, "// "+name+":declare\n")
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
