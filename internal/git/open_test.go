package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piworkflows/internal/git"
)

func TestOpenFindsARepositoryAtItsPathOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := filepath.Dir(w.dir)
	bare := filepath.Join(root, "bare.git")
	run(t, root, "clone", "--quiet", "--bare", w.dir, bare)
	linked := filepath.Join(root, "linked")
	run(t, w.dir, "worktree", "add", "--quiet", "--detach", linked)
	link := filepath.Join(root, "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.dir, "sub", "file"), "")
	dotGit := filepath.Join(w.dir, ".git")
	tests := []struct {
		name, path string
		common     string // empty: no repository
	}{
		{"worktree", w.dir, dotGit},
		{"git folder", dotGit, dotGit},
		{"bare", bare, bare},
		{"linked worktree", linked, dotGit},
		{"symbolic link", link, dotGit},
		{"folder within a worktree", filepath.Join(w.dir, "sub"), ""},
		{"missing", filepath.Join(root, "missing"), ""},
		{"missing within a worktree", filepath.Join(w.dir, "missing"), ""},
		{"file", filepath.Join(w.dir, "README"), ""},
		{"plain folder", root, ""},
		{"relative", "repo", ""},
		{"empty", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			repo, err := git.Open(t.Context(), test.path, git.Options{})
			var missing *git.NotRepositoryError
			switch {
			case test.common == "" && (!errors.As(err, &missing) || missing.Path != test.path || missing.Detail == ""):
				t.Fatalf("error %v, want a NotRepositoryError", err)
			case test.common != "" && err != nil:
				t.Fatal(err)
			case test.common != "" && repo.CommonDir() != test.common:
				t.Errorf("common folder %s, want %s", repo.CommonDir(), test.common)
			}
		})
	}
}

// A bare repository is refused by a careful configuration, unless its path was
// given.
func TestOpenTakesABareRepositoryThatWasNamed(t *testing.T) {
	home := tempDir(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	write(t, filepath.Join(home, ".gitconfig"), "[safe]\n\tbareRepository = explicit\n")
	bare := filepath.Join(home, "bare.git")
	run(t, home, "init", "--quiet", "--bare", bare)
	if err := command(t, bare, "rev-parse", "--git-dir").Run(); err == nil {
		t.Fatal("a careful Git took it without asking; the test shows nothing")
	}
	open(t, bare)
}

func TestOpenContains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, want := range map[string]bool{
		w.dir:                             true,
		filepath.Join(w.dir, "a"):         true,
		filepath.Join(w.dir, ".git", "b"): true,
		w.dir + "-beside":                 false,
		filepath.Dir(w.dir):               false,
		filepath.Join(filepath.Dir(w.dir), "..ab"): false,
	} {
		if got := w.repo.Contains(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestOpenRefusesAnOldGit(t *testing.T) {
	t.Parallel()
	for answer, old := range map[string]bool{
		"git version 2.37.7":           true,
		"git version 1.99.0":           true,
		"git version":                  true,
		"something else entirely":      true,
		"git version 2.38.0":           false,
		"git version 2.39.5 (Apple 1)": false,
		"git version 2.45.1.windows.1": false,
		"git version 3.0":              false,
	} {
		program := script(t, `case "$*" in *" version") echo "`+answer+`";; *) exec git "$@";; esac`)
		_, err := git.Open(t.Context(), newWorld(t).dir, git.Options{Program: program})
		var version *git.VersionError
		if errors.As(err, &version) != old || !old && err != nil {
			t.Errorf("%s: error %v", answer, err)
		}
		if old && (version.Found != answer || version.Need != "2.38") {
			t.Errorf("%s: fields %+v", answer, version)
		}
	}
}

func TestOpenWithoutGit(t *testing.T) {
	t.Parallel()
	_, err := git.Open(t.Context(), tempDir(t), git.Options{Program: "no-such-git"})
	var missing *git.NotInstalledError
	if !errors.As(err, &missing) || missing.Program != "no-such-git" {
		t.Errorf("error %v, want a NotInstalledError", err)
	}
}

func TestCallsHaveADeadline(t *testing.T) {
	t.Parallel()
	slow := script(t, "exec sleep 600")
	_, err := git.Open(t.Context(), tempDir(t), git.Options{Program: slow, Timeout: 20 * time.Millisecond})
	var late *git.TimeoutError
	if !errors.As(err, &late) || late.After != 20*time.Millisecond {
		t.Errorf("error %v, want a TimeoutError", err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := w.repo.Worktrees(ctx); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
}
