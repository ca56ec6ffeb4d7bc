package repo_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"piworkflows/internal/repo"
)

func TestReadsWhatIsUnderTheRoot(t *testing.T) {
	t.Parallel()
	text, err := repo.Read("internal/repo/repo.go")
	if err != nil || !strings.Contains(text, "\npackage repo\n") {
		t.Errorf("read %q, %v", text, err)
	}
	if text, err := repo.Read("internal/repo/missing.go"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %q, %v", text, err)
	}
}

func TestOutsideAModule(t *testing.T) {
	t.Chdir(t.TempDir())
	if root, err := repo.Root(); err == nil {
		t.Errorf("found %s", root)
	}
	if text, err := repo.Read("go.mod"); err == nil {
		t.Errorf("read %q", text)
	}
}

func TestFilesListsTrackedFiles(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := repo.Files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"go.mod", "Makefile"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not listed", want)
		}
	}
}

func TestErrorsCarryWhatTheCommandSaid(t *testing.T) {
	t.Parallel()
	_, err := repo.Build(t.Context(), t.TempDir(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "go.mod file not found") {
		t.Fatalf("got %v", err)
	}
}
