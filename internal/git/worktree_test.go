package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/git"
	"piworkflows/internal/oslock"
)

func TestWorktrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base, side := w.hash(t, "main"), w.commit(t, "side", "a", "1\n")
	root := tempDir(t)
	detached, odd, gone := filepath.Join(root, "detached"), filepath.Join(root, "odd name\nü"), filepath.Join(root, "gone")
	run(t, w.dir, "worktree", "add", "--quiet", "--detach", detached, string(side))
	run(t, w.dir, "worktree", "add", "--quiet", odd, "side")
	run(t, w.dir, "worktree", "add", "--quiet", "-b", "gone", gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	got, err := w.repo.Worktrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []git.Worktree{
		{Path: w.dir, Head: base, Branch: main},
		{Path: detached, Head: side},
		{Path: gone, Head: base, Branch: "refs/heads/gone", Missing: true},
		{Path: odd, Head: side, Branch: "refs/heads/side"},
	}
	slices.SortFunc(got[1:], func(a, b git.Worktree) int { return cmpStrings(a.Path, b.Path) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for ref, path := range map[string]string{main: w.dir, "refs/heads/side": odd, "refs/heads/gone": gone, feature: ""} {
		at, found, err := w.repo.CheckedOut(t.Context(), ref)
		if err != nil || found != (path != "") || at.Path != path {
			t.Errorf("%s is checked out at %q: %v, %v; want %q", ref, at.Path, found, err, path)
		}
	}
}

func cmpStrings(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestWorktreesOfABareRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bare := filepath.Join(tempDir(t), "bare.git")
	run(t, "", "clone", "--quiet", "--bare", w.dir, bare)
	repo := open(t, bare)
	got, err := repo.Worktrees(t.Context())
	if diff := cmp.Diff([]git.Worktree{{Path: bare, Bare: true}}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if at, found, err := repo.CheckedOut(t.Context(), main); err != nil || found {
		t.Errorf("main of a bare repository is checked out at %s, %v", at.Path, err)
	}
}

func TestWorktreeLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write(t, filepath.Join(w.dir, ".gitignore"), "*.log\n")
	commit := w.commit(t, "feature", "dir/a", "1\n")
	run(t, w.dir, "sparse-checkout", "set", "--no-cone", "README")
	path := filepath.Join(tempDir(t), "tree")
	if err := w.repo.WorktreeAdd(t.Context(), path, commit); err != nil {
		t.Fatal(err)
	}
	wantClean(t, w.repo, path, true)
	if content, err := os.ReadFile(filepath.Join(path, "dir", "a")); err != nil || string(content) != "1\n" {
		t.Errorf("the worktree is not whole: %q, %v", content, err)
	}
	for _, leftover := range []string{"new", "build.log", "dir/b"} {
		write(t, filepath.Join(path, leftover), "x")
		wantClean(t, w.repo, path, false)
		if err := os.Remove(filepath.Join(path, leftover)); err != nil {
			t.Fatal(err)
		}
		wantClean(t, w.repo, path, true)
	}
	write(t, filepath.Join(path, "dir", "a"), "2\n")
	wantClean(t, w.repo, path, false)
	for range 2 {
		if err := w.repo.WorktreeRemove(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		wantGone(t, w, path)
	}
}

func wantClean(t *testing.T, repo *git.Repo, path string, want bool) {
	t.Helper()
	if got, err := repo.WorktreeClean(t.Context(), path); err != nil || got != want {
		t.Errorf("clean %v, %v; want %v", got, err, want)
	}
}

// wantGone wants neither the folder nor an entry, and no lock of ours.
func wantGone(t *testing.T, w world, path string) {
	t.Helper()
	list, err := w.repo.Worktrees(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("worktrees %v, %v; want the main one only", list, err)
	}
	if exists(path) {
		t.Error("the folder is left")
	}
	if entries, _ := os.ReadDir(filepath.Join(w.dir, ".git", "worktrees")); len(entries) != 0 {
		t.Errorf("entries %v are left", entries)
	}
	if exists(filepath.Join(w.dir, ".git", "pi-workflows-worktrees.lock")) {
		t.Error("the lock is left")
	}
}

// Whatever a crash leaves of a worktree can be removed.
func TestWorktreeRemoveAfterACrash(t *testing.T) {
	t.Parallel()
	remove := func(parts ...string) func(t *testing.T, w world, path string) {
		return func(t *testing.T, w world, path string) {
			t.Helper()
			for _, part := range parts {
				if err := os.RemoveAll(filepath.Join(w.dir, ".git", "worktrees", filepath.Base(path), part)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, w world, path string)
	}{
		{"before the entry", remove("")},
		{"before gitdir", remove("gitdir", "HEAD", "commondir")},
		{"before HEAD", remove("HEAD", "commondir")},
		{"before commondir", remove("commondir")},
		{"within commondir", func(t *testing.T, w world, path string) {
			write(t, filepath.Join(w.dir, ".git", "worktrees", filepath.Base(path), "commondir"), "")
			if command(t, w.dir, "worktree", "list").Run() == nil {
				t.Error("Git can list an empty commondir; this case shows nothing")
			}
		}},
		{"locked", func(t *testing.T, w world, path string) { run(t, w.dir, "worktree", "lock", path) }},
		{"no .git file", func(t *testing.T, w world, path string) {
			if err := os.Remove(filepath.Join(path, ".git")); err != nil {
				t.Fatal(err)
			}
		}},
		{"folder removed", func(t *testing.T, w world, path string) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := filepath.Join(tempDir(t), "tree")
			if err := w.repo.WorktreeAdd(t.Context(), path, w.hash(t, "main")); err != nil {
				t.Fatal(err)
			}
			test.damage(t, w, path)
			if err := w.repo.WorktreeRemove(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			wantGone(t, w, path)
		})
	}
}

func TestWorktreeRemoveThroughASymbolicLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := tempDir(t)
	if err := os.Mkdir(filepath.Join(root, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "link", "tree")
	if err := w.repo.WorktreeAdd(t.Context(), path, w.hash(t, "main")); err != nil {
		t.Fatal(err)
	}
	if err := w.repo.WorktreeRemove(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	wantGone(t, w, path)
}

func TestWorktreeAddRefusesAFolderInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(tempDir(t), "tree")
	write(t, filepath.Join(path, "file"), "mine")
	if err := w.repo.WorktreeAdd(t.Context(), path, w.hash(t, "main")); err == nil {
		t.Error("added over a file")
	}
	if !exists(filepath.Join(path, "file")) {
		t.Error("the file is gone")
	}
}

// Git itself dies when lists and changes of worktrees overlap.
func TestWorktreesFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root, commit := tempDir(t), w.hash(t, "main")
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			repo := open(t, w.dir)
			for i := range 6 {
				path := filepath.Join(root, fmt.Sprintf("%d-%d", worker, i))
				_, _, listErr := repo.CheckedOut(t.Context(), feature)
				if err := errors.Join(repo.WorktreeAdd(t.Context(), path, commit), listErr, repo.WorktreeRemove(t.Context(), path)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	wantGone(t, w, root+"/none")
}

func TestWorktreesWaitForTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lock, err := oslock.TryLock(filepath.Join(w.dir, ".git", "pi-workflows-worktrees.lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := w.repo.Worktrees(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v while the lock is held", err)
	}
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.repo.Worktrees(t.Context()); err != nil {
		t.Error(err)
	}
}
