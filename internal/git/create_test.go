package git_test

import (
	"errors"
	"path/filepath"
	"testing"

	"piworkflows/internal/git"
)

const oneCommit = `feature done
commit refs/heads/trunk
committer Ada <ada@example.com> 1700000000 +0100
data 5
First
M 100644 inline README
data 6
hello

done
`

func TestCreateBareMakesTheSameRepositoryEachTime(t *testing.T) {
	t.Parallel()
	var heads [2]git.Hash
	for i := range heads {
		path := filepath.Join(tempDir(t), "made.git")
		r, err := git.CreateBare(t.Context(), path, "trunk", oneCommit, git.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if heads[i], err = r.ResolveRef(t.Context(), git.BranchRef("trunk")); err != nil {
			t.Fatal(err)
		}
		if got := run(t, path, "symbolic-ref", "HEAD"); got != "refs/heads/trunk" {
			t.Errorf("HEAD is %s", got)
		}
	}
	if heads[0] != heads[1] {
		t.Errorf("the same stream made %s and %s", heads[0], heads[1])
	}
}

func TestCreateBareRefusesABrokenStream(t *testing.T) {
	t.Parallel()
	_, err := git.CreateBare(t.Context(), filepath.Join(tempDir(t), "made.git"), "trunk", "nonsense\n", git.Options{})
	if failed, ok := errors.AsType[*git.CommandError](err); !ok {
		t.Fatalf("CreateBare = %v (%T), want a *CommandError", err, failed)
	}
}

func TestCreateBareRefusesAnInvalidBranch(t *testing.T) {
	t.Parallel()
	_, err := git.CreateBare(t.Context(), filepath.Join(tempDir(t), "made.git"), "a..b", oneCommit, git.Options{})
	if _, ok := errors.AsType[*git.RefNameError](err); !ok {
		t.Fatalf("CreateBare = %v, want a *RefNameError", err)
	}
}
