package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/git"
)

const (
	main    = "refs/heads/main"
	feature = "refs/heads/feature"
	ours    = "refs/pi-workflows/u/candidate"
)

func TestRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	head := w.commit(t, "feature", "a", "1\n")
	run(t, w.dir, "branch", "dir/a", "main")
	run(t, w.dir, "symbolic-ref", "refs/heads/alias", main)
	// Names that looser rules would take for the missing refs/heads/dir and gone.
	run(t, w.dir, "tag", "refs/heads/gone", "main")
	at := w.hash(t, "main")
	got, err := w.repo.Refs(t.Context(), main, feature, "refs/heads/alias", "refs/heads/dir", "refs/heads/gone")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]git.Ref{main: {Hash: at}, feature: {Hash: head}, "refs/heads/alias": {Hash: at, Symbolic: main}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var invalid *git.RefNameError
	if _, err := w.repo.Refs(t.Context(), "main"); !errors.As(err, &invalid) {
		t.Errorf("short name: error %v", err)
	}
}

func TestResolveRef(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got, err := w.repo.ResolveRef(t.Context(), main); err != nil || got != w.hash(t, "main") {
		t.Errorf("%s, %v", got, err)
	}
	_, err := w.repo.ResolveRef(t.Context(), feature)
	var missing *git.RefNotFoundError
	if !errors.As(err, &missing) || missing.Ref != feature {
		t.Errorf("error %v, want a RefNotFoundError", err)
	}
}

func TestUpdateRefs(t *testing.T) {
	t.Parallel()
	type state map[string]git.Hash
	w := newWorld(t)
	a := w.hash(t, "main")
	b := w.commit(t, "feature", "a", "1\n")
	start := state{main: a, feature: b}
	tests := []struct {
		name    string
		changes []git.RefChange
		want    state                  // as before if nil
		broken  *git.PreconditionError // without it, no error is wanted
	}{
		{"move", []git.RefChange{git.Verify(feature, b), git.Move(main, a, b)}, state{main: b, feature: b}, nil},
		{"set", []git.RefChange{git.Set(ours, b), git.Set(main, b)}, state{main: b, feature: b, ours: b}, nil},
		{"delete", []git.RefChange{git.Delete(feature)}, state{main: a}, nil},
		{"delete what is missing", []git.RefChange{git.Delete(ours)}, nil, nil},
		{"moved target", []git.RefChange{git.Verify(feature, b), git.Move(main, b, a)}, nil,
			&git.PreconditionError{Ref: main, Want: b, Found: a}},
		{"moved head", []git.RefChange{git.Verify(feature, a), git.Move(main, a, b)}, nil,
			&git.PreconditionError{Ref: feature, Want: a, Found: b}},
		{"missing target", []git.RefChange{git.Move(ours, a, b), git.Delete(feature)}, nil,
			&git.PreconditionError{Ref: ours, Want: a}},
		{"missing head", []git.RefChange{git.Move(main, a, b), git.Verify(ours, a)}, nil,
			&git.PreconditionError{Ref: ours, Want: a}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bare := filepath.Join(tempDir(t), "bare.git")
			run(t, "", "clone", "--quiet", "--bare", w.dir, bare)
			repo := open(t, bare)
			err := repo.UpdateRefs(t.Context(), "test", test.changes...)
			var broken *git.PreconditionError
			errors.As(err, &broken)
			if diff := cmp.Diff(test.broken, broken); diff != "" || (err != nil) != (test.broken != nil) {
				t.Errorf("error %v\n%s", err, diff)
			}
			want := test.want
			if want == nil {
				want = start
			}
			if diff := cmp.Diff(want, state(allRefs(t, repo))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func allRefs(t *testing.T, repo *git.Repo) map[string]git.Hash {
	t.Helper()
	all := map[string]git.Hash{}
	for _, prefix := range []string{"refs/heads", "refs/pi-workflows/"} {
		refs, err := repo.RefsUnder(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		for name, ref := range refs {
			all[name] = ref.Hash
		}
	}
	return all
}

// A locked ref is not a broken precondition: nobody knows what will become of it.
func TestUpdateRefsTellsALockFromAMovedRef(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.hash(t, "main"), w.commit(t, "feature", "a", "1\n")
	write(t, filepath.Join(w.dir, ".git", main+".lock"), "")
	err := w.repo.UpdateRefs(t.Context(), "test", git.Move(main, a, b))
	var failed *git.CommandError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "main.lock") {
		t.Errorf("error %v, want a CommandError that names the lock", err)
	}
	if got := w.hash(t, main); got != a {
		t.Errorf("main moved to %s", got)
	}
}

func TestUpdateRefsWritesTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.hash(t, "main"), w.commit(t, "feature", "a", "1\n")
	if err := w.repo.UpdateRefs(t.Context(), "merge of feature", git.Move(main, a, b)); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(w.dir, ".git", "logs", main))
	if err != nil || !strings.Contains(string(log), "Pi Workflows <pi-workflows@localhost>") || !strings.Contains(string(log), "merge of feature") {
		t.Errorf("reflog %s, %v", log, err)
	}
}

// Refs are packed: the file of a ref and its folder may be missing.
func TestUpdateRefsOfPackedRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.hash(t, "main"), w.commit(t, "x/y/z", "a", "1\n")
	run(t, w.dir, "pack-refs", "--all", "--prune")
	if err := w.repo.UpdateRefs(t.Context(), "test", git.Verify("refs/heads/x/y/z", b), git.Move(main, a, b)); err != nil {
		t.Fatal(err)
	}
	if err := w.repo.UpdateRefs(t.Context(), "test", git.Delete("refs/heads/x/y/z")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]git.Hash{main: b}, allRefs(t, w.repo)); diff != "" {
		t.Error(diff)
	}
}
