package repo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piworkflows/internal/repo"
)

func TestRootHoldsTheModule(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "repo", "repo.go")); err != nil {
		t.Fatal(err)
	}
}

func TestRootOutsideAModule(t *testing.T) {
	t.Chdir(t.TempDir())
	if root, err := repo.Root(); err == nil {
		t.Fatalf("found %s", root)
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
