// Package e2e plays whole stories with the program that users run.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"piworkflows/internal/repo"
)

// folder holds the program while the tests run.
var folder string

// program builds the real program once, with crash points: they do nothing
// unless a test asks for them.
var program = sync.OnceValues(func() (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	return repo.Build(context.Background(), root, folder, "crashpoints")
})

func TestMain(m *testing.M) {
	if project := os.Getenv(stormEnv); project != "" {
		panic(weatherStorm(context.Background(), project)) // it ends by being killed
	}
	var err error
	if folder, err = os.MkdirTemp("", "pi-workflows-e2e-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// house is a user's machine: a home of its own, and a project in it.
type house struct {
	t       *testing.T
	home    string
	project string
	env     []string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, home: home, project: filepath.Join(home, "demo")}
	h.env = append(clean(os.Environ()), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
	return h
}

// clean drops what leads the program or Git to the places of whoever runs the
// tests.
func clean(env []string) []string {
	var kept []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "PI_WORKFLOWS_") && !strings.HasPrefix(entry, "GIT_") && !strings.HasPrefix(entry, "XDG_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// result is what a command did.
type result struct {
	stdout, stderr string
	code           int
}

// command prepares the program with arguments.
func (h *house) command(args ...string) *exec.Cmd {
	h.t.Helper()
	path, err := program()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(h.t.Context(), path, args...)
	cmd.Env, cmd.Dir = slices.Clone(h.env), h.home
	return cmd
}

// run runs the program to its end.
func (h *house) run(args ...string) result {
	h.t.Helper()
	return h.end(h.command(args...))
}

func (h *house) end(cmd *exec.Cmd) result {
	h.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit == nil) {
		h.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must runs the program and expects success; it returns stdout.
func (h *house) must(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.t.Fatalf("pi-workflows %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// mustJSON is must with -o json, decoded.
func (h *house) mustJSON(into any, args ...string) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.must(append(args, "-o", "json")...)), into); err != nil {
		h.t.Fatal(err)
	}
}

// git runs Git as a user does and returns its output without the last newline.
func (h *house) git(dir string, args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(h.env), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}
