package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of the store that was made before a merge does not make the merge twice:
// neither one that knows nothing of it nor one in which it was about to be made.
func TestACopyMadeBeforeAMergeDoesNotMergeTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	repository, head := h.featureBranch()
	spec, err := json.Marshal(map[string]any{
		"repository": repository, "branch": "feature", "target": "main", "expectedHead": head,
		"check": []string{"git", "rev-parse", "HEAD"}, "approved": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.project = filepath.Dir(repository)
	in := func(args ...string) string { return h.must(append(args, "--project", h.project)...) }
	in("apply", "git-merge", "feature", "--spec", string(spec))
	early, late := filepath.Join(h.home, "early.sqlite"), filepath.Join(h.home, "late.sqlite")
	in("backup", early)
	in("freeze")
	in("host", "--once")
	if e := h.resource("feature").Effects; len(e) != 1 || e[0].State != "pending" {
		t.Fatalf("effects of the frozen project: %+v", e)
	}
	in("unfreeze")
	in("backup", late)
	in("host", "--once")
	merged := h.git(repository, "rev-parse", "main")
	h.mustHaveMoved(repository, 1)

	for _, copied := range []string{early, late} {
		in("restore", copied)
		in("host", "--once")
		r := h.resource("feature")
		if r.Ready.Status != true || h.git(repository, "rev-parse", "main") != merged {
			t.Errorf("after %s: %+v, main %s", filepath.Base(copied), r.Ready, h.git(repository, "rev-parse", "main"))
		}
		for _, e := range r.Effects {
			if e.State != "applied" {
				t.Errorf("after %s: effect %+v", filepath.Base(copied), e)
			}
		}
		h.mustHaveMoved(repository, 1)
	}
}

// featureBranch makes a bare repository with a branch to merge, which notes each
// move of a ref, and returns the head of that branch.
func (h *house) featureBranch() (repository, head string) {
	h.t.Helper()
	repository = filepath.Join(h.home, "project", "repository.git")
	work := filepath.Join(h.home, "work")
	h.git(h.home, "init", "--quiet", "--bare", "--initial-branch=main", repository)
	h.git(repository, "config", "core.logAllRefUpdates", "always")
	h.git(h.home, "clone", "--quiet", repository, work)
	h.git(work, "switch", "--quiet", "--create", "main")
	h.git(work, "commit", "--quiet", "--allow-empty", "--message", "begin")
	h.git(work, "push", "--quiet", "origin", "main")
	h.git(work, "switch", "--quiet", "--create", "feature")
	h.git(work, "commit", "--quiet", "--allow-empty", "--message", "feature")
	h.git(work, "push", "--quiet", "origin", "feature")
	return repository, h.git(work, "rev-parse", "feature")
}

// mustHaveMoved counts how often main was moved after it was pushed.
func (h *house) mustHaveMoved(repository string, want int) {
	h.t.Helper()
	moves := strings.Split(h.git(repository, "reflog", "show", "main"), "\n")
	if got := len(moves) - 1; got != want {
		h.t.Errorf("main moved %d times, want %d:\n%s", got, want, strings.Join(moves, "\n"))
	}
}
