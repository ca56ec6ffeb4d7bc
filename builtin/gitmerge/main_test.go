package gitmerge

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"piworkflows/internal/git"
)

// Everything is tested as if it ran within a hook of some other repository.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"GIT_DIR": "/nowhere/repo", "GIT_INDEX_FILE": "/nowhere/index", "GIT_WORK_TREE": "/nowhere"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if pattern.dir != "" {
			_ = os.RemoveAll(pattern.dir)
		}
		os.Exit(code)
	}))
}

// run calls Git as a user does, in dir, with an identity and a fixed time.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=@1700000000 +0100",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=@1700000000 +0100",
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// forge is a bare repository with the branches that the tests merge, and a clone
// in which they are made.
type forge struct {
	t *testing.T
	// dir is the bare repository, clone its clone, root the folder of worktrees.
	dir, clone, root string
	repo             *git.Repo
}

// newForge makes main with one file, story, that has three lines.
func newForge(t *testing.T) *forge {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &forge{t: t, dir: filepath.Join(base, "repo.git"), clone: filepath.Join(base, "clone"), root: filepath.Join(base, "work")}
	if err := os.CopyFS(base, os.DirFS(template(t))); err != nil {
		t.Fatal(err)
	}
	f.repo, err = git.Open(t.Context(), f.dir, git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var pattern struct {
	once sync.Once
	dir  string
}

// template returns a folder with a forge that was made once: copying it is much
// faster than making another.
func template(t *testing.T) string {
	t.Helper()
	pattern.once.Do(func() {
		dir, err := os.MkdirTemp("", "gitmerge-test-") //nolint:usetesting // it outlives the test that makes it
		if err != nil {
			t.Fatal(err)
		}
		f := &forge{t: t, dir: filepath.Join(dir, "repo.git"), clone: filepath.Join(dir, "clone")}
		run(t, dir, "init", "--quiet", "--bare", "--initial-branch=main", f.dir)
		run(t, dir, "clone", "--quiet", f.dir, f.clone)
		run(t, f.clone, "remote", "set-url", "origin", "../repo.git")
		f.push("main", "story", "one\ntwo\nthree\n")
		pattern.dir = dir
	})
	return pattern.dir
}

// push writes one file on a branch, which starts at main if it is new, and
// returns its new head.
func (f *forge) push(branch, file, content string) string {
	f.t.Helper()
	if branch != "main" && run(f.t, f.clone, "branch", "--list", branch) == "" {
		run(f.t, f.clone, "branch", branch, "main")
	}
	if run(f.t, f.clone, "symbolic-ref", "--short", "HEAD") != branch {
		run(f.t, f.clone, "checkout", "--quiet", branch, "--")
	}
	path := filepath.Join(f.clone, filepath.FromSlash(file))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		f.t.Fatal(err)
	}
	run(f.t, f.clone, "add", "--all")
	run(f.t, f.clone, "commit", "--quiet", "--message", "Write "+file)
	run(f.t, f.clone, "push", "--quiet", "origin", branch)
	return run(f.t, f.clone, "rev-parse", "HEAD")
}

// at returns where a branch of the bare repository is.
func (f *forge) at(branch string) string {
	f.t.Helper()
	return run(f.t, f.dir, "rev-parse", "--verify", "refs/heads/"+branch)
}

// move moves a branch of the bare repository.
func (f *forge) move(branch, to string) {
	f.t.Helper()
	run(f.t, f.dir, "update-ref", "refs/heads/"+branch, to)
}

// leftovers lists what is ours in the repository and under the work root.
func (f *forge) leftovers() []string {
	f.t.Helper()
	var left []string
	trees, err := f.repo.Worktrees(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, tree := range trees {
		if !tree.Bare {
			left = append(left, "worktree "+tree.Path)
		}
	}
	refs, err := f.repo.RefsUnder(f.t.Context(), "refs/pi-workflows")
	if err != nil {
		f.t.Fatal(err)
	}
	for name := range refs {
		left = append(left, name)
	}
	entries, err := os.ReadDir(f.root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, "folder "+entry.Name())
	}
	return left
}

func (f *forge) wantNothingLeft() {
	f.t.Helper()
	if left := f.leftovers(); len(left) > 0 {
		f.t.Errorf("left behind: %q", left)
	}
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// shell is a check command of one line.
func shell(line string) []string { return []string{"sh", "-c", line} }
