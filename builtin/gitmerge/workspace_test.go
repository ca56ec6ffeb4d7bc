package gitmerge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"piworkflows/internal/git"
)

const testOwner = "0190aaaa-0000-7000-8000-000000000001"

func TestOpenWorkRoot(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shared, file := filepath.Join(base, "shared"), filepath.Join(base, "file")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o770), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(base, "a", "b")
	for path, want := range map[string]string{
		made: made, filepath.Join(base, "link", "c"): filepath.Join(base, "c"), "relative": "", shared: "", file: "",
	} {
		got, err := openWorkRoot(path)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v; want %q", path, got, err, want)
		}
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	var unsafe *WorkRootError
	if _, err := openWorkRoot(shared); !errors.As(err, &unsafe) || unsafe.Path != shared {
		t.Errorf("error %v, want a WorkRootError", err)
	}
}

func TestDefaultWorkRootIsTheUsers(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/ada")
	cached := defaultWorkRoot()
	t.Setenv("HOME", "")
	if temporary := defaultWorkRoot(); !filepath.IsAbs(cached) || temporary == cached || filepath.Dir(temporary) != filepath.Clean(os.TempDir()) {
		t.Errorf("with a home %s, without %s", cached, temporary)
	}
}

func TestWorktreesLieOutsideOfTheRepository(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	w := workspace{root: filepath.Join(f.dir, "work")}
	err := w.add(t.Context(), f.repo, testOwner, "run", git.Hash(f.at("main")))
	if !isA[*WorkRootError](err) {
		t.Errorf("error %v, want a WorkRootError", err)
	}
}

func TestSweepRemovesWhatIsTheOwnersOnly(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	commit := git.Hash(f.at("main"))
	other := "0190aaaa-0000-7000-8000-000000000002"
	w, elsewhere := workspace{root: f.root}, workspace{root: f.root + "-before"}
	for _, made := range []error{
		w.add(t.Context(), f.repo, testOwner, "run-1", commit),
		w.add(t.Context(), f.repo, testOwner, "run-2", commit),
		elsewhere.add(t.Context(), f.repo, testOwner, "run-0", commit),
		w.add(t.Context(), f.repo, other, "run-1", commit),
		f.repo.UpdateRefs(t.Context(), "test", git.Set(candidateRef(testOwner), commit), git.Set(candidateRef(other), commit)),
		// A run that was cut off before and after it told Git.
		os.Mkdir(filepath.Join(f.root, testOwner, "run-3"), 0o700),
		os.RemoveAll(filepath.Join(f.root, testOwner, "run-2")),
		os.Truncate(filepath.Join(f.dir, "worktrees", "run-1", "commondir"), 0),
	} {
		if made != nil {
			t.Fatal(made)
		}
	}
	for range 2 {
		if err := errors.Join(w.sweep(t.Context(), f.repo, testOwner), forget(t.Context(), f.repo, testOwner)); err != nil {
			t.Fatal(err)
		}
		if trees, err := owned(t.Context(), f.repo, testOwner); err != nil || len(trees) != 0 {
			t.Errorf("left: %v, %v", trees, err)
		}
	}
	if _, err := os.Stat(filepath.Join(f.root+"-before", testOwner)); !os.IsNotExist(err) {
		t.Errorf("the folder of another root is left: %v", err)
	}
	if _, found, err := find(t.Context(), f.repo, other, "run-1"); err != nil || !found {
		t.Errorf("the other owner's worktree: %v, %v", found, err)
	}
	if _, err := f.repo.ResolveRef(t.Context(), candidateRef(other)); err != nil {
		t.Errorf("the other owner's ref: %v", err)
	}
	if err := errors.Join(w.sweep(t.Context(), f.repo, other), forget(t.Context(), f.repo, other)); err != nil {
		t.Fatal(err)
	}
	f.wantNothingLeft()
}

func TestSweepWithoutARepository(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	w := workspace{root: f.root}
	if err := w.add(t.Context(), f.repo, testOwner, "run-1", git.Hash(f.at("main"))); err != nil {
		t.Fatal(err)
	}
	if err := w.sweep(t.Context(), nil, testOwner); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(f.root); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A name that could lead elsewhere never becomes a part of a path.
func TestNamesOfOwnersAndRuns(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	w := workspace{root: f.root}
	for _, name := range []string{"", ".", "..", "a/b", "../a", "a b"} {
		if err := w.sweep(t.Context(), nil, name); err == nil {
			t.Errorf("swept %q", name)
		}
		if err := w.add(t.Context(), f.repo, testOwner, name, git.Hash(f.at("main"))); err == nil {
			t.Errorf("added %q", name)
		}
	}
}
