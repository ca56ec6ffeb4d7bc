package git_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/git"
)

func TestMergeTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.hash(t, "main")
	side := w.commit(t, "side", "a file", "side\n")
	clash := w.commit(t, "clash", "README", "other\n")
	here := w.commit(t, "main", "README", "changed\n")
	tests := []struct {
		name         string
		ours, theirs git.Hash
		files        string
		conflicts    []string
	}{
		{"both changed", here, side, "README\na file", nil},
		{"only theirs changed", base, side, "README\na file", nil},
		{"nothing changed", here, base, "README", nil},
		{"conflict", here, clash, "", []string{"README"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := w.repo.MergeTree(t.Context(), test.ours, test.theirs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.conflicts, got.Conflicts); diff != "" {
				t.Error(diff)
			}
			if (got.Tree == "") != (test.conflicts != nil) {
				t.Errorf("tree %q", got.Tree)
			}
			if got.Tree != "" {
				if files := run(t, w.dir, "ls-tree", "--name-only", string(got.Tree)); files != test.files {
					t.Errorf("files %q, want %q", files, test.files)
				}
			}
		})
	}
}

func TestAncestry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.hash(t, "main")
	side := w.commit(t, "side", "a", "1\n")
	here := w.commit(t, "main", "b", "1\n")
	alone := git.Hash(run(t, w.dir, "commit-tree", "-m", "alone", string(w.hash(t, "main^{tree}"))))
	ancestors := []struct {
		ancestor, of git.Hash
		want         bool
	}{{base, side, true}, {base, base, true}, {side, here, false}, {here, base, false}, {alone, here, false}}
	for _, test := range ancestors {
		if got, err := w.repo.IsAncestor(t.Context(), test.ancestor, test.of); err != nil || got != test.want {
			t.Errorf("%s of %s: %v, %v", test.ancestor.Short(), test.of.Short(), got, err)
		}
	}
	for other, want := range map[git.Hash]git.Hash{side: base, base: base, alone: ""} {
		if got, err := w.repo.MergeBase(t.Context(), here, other); err != nil || got != want {
			t.Errorf("base with %s: %s, %v", other.Short(), got, err)
		}
	}
	var failed *git.CommandError
	if _, err := w.repo.IsAncestor(t.Context(), missing, here); !errors.As(err, &failed) {
		t.Errorf("missing commit: error %v", err)
	}
}

const missing = git.Hash("0123456789012345678901234567890123456789")

func TestHasCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for object, want := range map[git.Hash]bool{
		w.hash(t, "main"): true, w.hash(t, "main^{tree}"): false, w.hash(t, "main:README"): false, missing: false,
	} {
		if got, err := w.repo.HasCommit(t.Context(), object); err != nil || got != want {
			t.Errorf("%s: %v, %v", object.Short(), got, err)
		}
	}
}

//nolint:paralleltest // it changes the environment
func TestCommitTreeDependsOnItsInputOnly(t *testing.T) {
	for name, value := range map[string]string{
		"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index", "GIT_WORK_TREE": "/nowhere", "GIT_OBJECT_DIRECTORY": "/nowhere",
		"GIT_AUTHOR_NAME": "Eve", "GIT_COMMITTER_EMAIL": "eve@example.com", "GIT_AUTHOR_DATE": "@1 +0000",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "i18n.commitEncoding", "GIT_CONFIG_VALUE_0": "latin1",
		"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8",
	} {
		t.Setenv(name, value)
	}
	w := newWorld(t)
	run(t, w.dir, "config", "user.name", "Mallory")
	run(t, w.dir, "config", "commit.gpgSign", "true")
	run(t, w.dir, "config", "gpg.program", "false")
	c := git.Commit{
		Tree: w.hash(t, "main^{tree}"), Parents: []git.Hash{w.hash(t, "main")},
		Message: "Merge ü\n", Time: time.Date(2024, 5, 6, 7, 8, 9, 999, time.FixedZone("", 3600)),
	}
	hash, err := w.repo.CommitTree(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.repo.CommitTree(t.Context(), c)
	if err != nil || again != hash {
		t.Errorf("again %s, %v; want %s", again, err, hash)
	}
	want := "tree " + string(c.Tree) + "\nparent " + string(c.Parents[0]) + `
author Pi Workflows <pi-workflows@localhost> 1714975689 +0000
committer Pi Workflows <pi-workflows@localhost> 1714975689 +0000

Merge ü`
	if diff := cmp.Diff(want, run(t, w.dir, "cat-file", "commit", string(hash))); diff != "" {
		t.Error(diff)
	}
	times, err := w.repo.CommitterTimes(t.Context(), hash, c.Parents[0])
	if diff := cmp.Diff([]time.Time{c.Time.UTC().Truncate(time.Second), time.Unix(1700000000, 0).UTC()}, times); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
