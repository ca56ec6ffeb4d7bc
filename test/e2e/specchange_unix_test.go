//go:build !windows

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestASpecChangeStopsTheCheckThatRuns: the check of the first spec would go on for
// ten minutes. That of the second one decides, and nothing of the first is left.
func TestASpecChangeStopsTheCheckThatRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	repository, fifo := filepath.Join(h.project, "repo.git"), filepath.Join(h.home, "fifo")
	h.repository(repository)
	mustNot(t, syscall.Mkfifo(fifo, 0o600))
	spec, err := json.Marshal(map[string]any{
		"repository": repository, "branch": "feature", "target": "main", "approved": true,
		"expectedHead": h.git(repository, "rev-parse", "feature"),
		"check":        []string{"sh", "-c", "echo $$ > " + fifo + "; exec sleep 600"},
	})
	mustNot(t, err)
	h.must("apply", "git-merge", "m", "--spec", string(spec), "--project", h.project)
	host := h.command("host", "--project", h.project)
	mustNot(t, host.Start())
	told, err := os.ReadFile(fifo) // as soon as the check runs
	mustNot(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(told)))
	mustNot(t, err)

	h.must("apply", "git-merge", "m", "--patch", `{"check":["true"]}`, "--project", h.project)
	h.must("wait", "git-merge", "m", "--for", "condition=Ready", "--timeout", "1m", "--project", h.project)
	mustNot(t, host.Process.Signal(os.Interrupt), host.Wait())
	r := h.resource("m")
	if r.Ready.Reason != "Merged" || len(r.Workflows) != 2 || r.Workflows[0].Code != "cancelled" || r.Workflows[1].State != "succeeded" {
		t.Errorf("it ended as %+v", r)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d of the first check is there: %v", pid, err)
	}
	h.mustBeTidy(repository)
}

// repository makes a bare repository with a branch to merge.
func (h *house) repository(bare string) {
	h.t.Helper()
	clone := filepath.Join(h.home, "clone")
	h.git(h.home, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	h.git(h.home, "clone", "--quiet", bare, clone)
	h.git(clone, "commit", "--quiet", "--allow-empty", "--message", "first")
	h.git(clone, "push", "--quiet", "origin", "HEAD:main")
	h.git(clone, "commit", "--quiet", "--allow-empty", "--message", "second")
	h.git(clone, "push", "--quiet", "origin", "HEAD:feature")
}
