package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
)

func TestPictureIsConsistent(t *testing.T) {
	t.Parallel()
	for _, problem := range checkTable(rooms, joiners) {
		t.Error(problem)
	}
}

// TestHouseLooksLikeItsPicture reads the graph as it is on each family of
// systems: an import in a file for one of them counts as much.
func TestHouseLooksLikeItsPicture(t *testing.T) {
	t.Parallel()
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			graph := houseFor(t, goos)
			for _, problem := range checkArrows(rooms, graph) {
				t.Error(problem)
			}
			for path, want := range carried {
				if diff := cmp.Diff(want, carries(rooms, graph, path)); diff != "" {
					t.Errorf("a program that imports %s carries other modules than rooms.go says (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}

func TestParseGraphRefusesWhatGoListNeverWrites(t *testing.T) {
	t.Parallel()
	if graph, err := parseGraph(strings.NewReader(`{"ImportPath":"a"}{`)); err == nil {
		t.Errorf("read %v", graph)
	}
}

func houseFor(t *testing.T, goos string) []pkg {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	graph, err := readGraph(t.Context(), root, goos)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}
