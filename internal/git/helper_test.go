package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"piworkflows/internal/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run calls Git as a user does, in dir, with an identity and a fixed time.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := command(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
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
	return cmd
}

// world is a repository with a worktree on main, which has one commit.
type world struct {
	dir  string
	repo *git.Repo
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir := filepath.Join(tempDir(t), "repo")
	run(t, "", "init", "--quiet", "--initial-branch=main", dir)
	w := world{dir: dir}
	w.commit(t, "main", "README", "hello\n")
	w.repo = open(t, dir)
	return w
}

// tempDir returns a temporary folder under its real name.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *git.Repo {
	t.Helper()
	repo, err := git.Open(t.Context(), dir, git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// commit writes one file on a branch, which starts at HEAD if it is new, and
// goes back to main.
func (w world) commit(t *testing.T, branch, file, content string) git.Hash {
	t.Helper()
	if branch != "main" {
		if command(t, w.dir, "checkout", "--quiet", branch, "--").Run() != nil {
			run(t, w.dir, "checkout", "--quiet", "-b", branch)
		}
		defer run(t, w.dir, "checkout", "--quiet", "main", "--")
	}
	write(t, filepath.Join(w.dir, file), content)
	run(t, w.dir, "add", "--all")
	run(t, w.dir, "commit", "--quiet", "--message", "Write "+file)
	return w.hash(t, "HEAD")
}

func (w world) hash(t *testing.T, revision string) git.Hash {
	t.Helper()
	return git.Hash(run(t, w.dir, "rev-parse", "--verify", revision))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	write(t, path, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
