package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// resource is what the command controller prints as JSON, as far as a story
// needs it.
type resource struct {
	Ready struct {
		Status  any    `json:"status"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"ready"`
	Effects []struct {
		Key, State string
	} `json:"effects"`
	Workflows []struct {
		RunID, State, Code string
		Attempt            int
	} `json:"workflows"`
}

func (h *house) resource(key string) resource {
	h.t.Helper()
	var r resource
	h.mustJSON(&r, "controller", "git-merge", key, "--project", h.project)
	return r
}

// mustHaveEnded checks the end of the demo: every branch as it should be, the
// merge made exactly once, and nothing of ours left behind.
func (h *house) mustHaveEnded() {
	h.t.Helper()
	for key, want := range map[string]string{
		"good": "Merged", "failing": "CheckFailed", "moved": "HeadChanged", "conflict": "Conflict",
	} {
		if r := h.resource(key); r.Ready.Reason != want || r.Ready.Status != (key == "good") {
			h.t.Errorf("%s is %v: %s (%s)", key, r.Ready.Status, r.Ready.Reason, r.Ready.Message)
		}
	}
	if r := h.resource("failing"); !strings.Contains(r.Ready.Message, "FAIL story.txt") {
		h.t.Errorf("the condition of failing does not show the output of its check: %q", r.Ready.Message)
	}
	h.mustBeMergedOnce()
	h.mustBeTidy(filepath.Join(h.project, "demo.git"))
}

// mustBeMergedOnce checks the repository and the effects: one merge commit, one
// applied effect.
func (h *house) mustBeMergedOnce() {
	h.t.Helper()
	repository := filepath.Join(h.project, "demo.git")
	if got := h.git(repository, "rev-list", "--count", "--merges", "main"); got != "1" {
		h.t.Errorf("main has %s merges, want 1", got)
	}
	h.git(repository, "merge-base", "--is-ancestor", "feature/good", "main")
	for _, key := range []string{"good", "failing", "moved", "conflict"} {
		applied := 0
		for _, e := range h.resource(key).Effects {
			if e.State == "applied" {
				applied++
			}
		}
		if want := map[bool]int{true: 1}[key == "good"]; applied != want {
			h.t.Errorf("%s has %d applied effects, want %d", key, applied, want)
		}
	}
}

// mustBeTidy checks that no worktree and no ref of ours is left.
func (h *house) mustBeTidy(repository string) {
	h.t.Helper()
	if refs := h.git(repository, "for-each-ref", "refs/pi-workflows"); refs != "" {
		h.t.Errorf("refs are left:\n%s", refs)
	}
	if list := h.git(repository, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		h.t.Errorf("worktrees are left:\n%s", list)
	}
	_ = filepath.WalkDir(filepath.Join(h.home, "cache"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasSuffix(path, ".lock") {
			h.t.Errorf("a file of a worktree is left: %s", path)
		}
		return nil
	})
}

// mustBePlain checks that a text has no control sequences and fits a terminal.
func mustBePlain(t *testing.T, name, text string) {
	t.Helper()
	if strings.Contains(text, "\x1b") {
		t.Errorf("%s has control sequences, and is no terminal", name)
	}
}
