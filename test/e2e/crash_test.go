package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spread is the number of crashes in an ordinary test run. PI_WORKFLOWS_STRESS
// makes every durable step one.
const spread = 6

// TestCrashAtDurableSteps kills the demo right after one of its durable steps
// (a commit of the store, an operation on a file), then plays it to its end:
// the end is always the same, and the merge is made once.
func TestCrashAtDurableSteps(t *testing.T) {
	t.Parallel()
	steps := durableSteps(t)
	for _, n := range crashes(steps, os.Getenv("PI_WORKFLOWS_STRESS") != "") {
		t.Run(fmt.Sprintf("step %d of %d", n, steps), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.crashAt(n)
			h.must("demo", "--dir", h.project)
			h.mustHaveEnded()
		})
	}
}

// TestCrashWhileClearing kills a demo that begins anew, before, while and after
// it removes what an earlier one left.
func TestCrashWhileClearing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 6, 12, 20} {
		t.Run(fmt.Sprintf("step %d", n), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.must("demo", "--dir", h.project)
			h.crashAt(n, "--fresh")
			h.must("demo", "--dir", h.project)
			h.mustHaveEnded()
		})
	}
}

// TestFreshAfterACrash begins anew after a demo that was killed while it had
// worktrees in the cache of the user.
func TestFreshAfterACrash(t *testing.T) {
	t.Parallel()
	for _, n := range []int{240, 300} {
		t.Run(fmt.Sprintf("step %d", n), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.crashAt(n)
			h.must("demo", "--dir", h.project, "--fresh")
			h.mustHaveEnded()
		})
	}
}

// crashes chooses the steps at which to crash.
func crashes(steps int, all bool) []int {
	count := spread
	if all {
		count = steps
	}
	chosen := []int{4} // in the middle of the very first file
	for i := range count {
		chosen = append(chosen, 1+i*(steps-1)/max(count-1, 1))
	}
	return chosen
}

// durableSteps counts the durable steps of an undisturbed demo. Their number
// differs a little between two demos, as concurrent commits are grouped.
func durableSteps(t *testing.T) int {
	t.Helper()
	h := newHouse(t)
	log := filepath.Join(h.home, "steps")
	h.env = append(h.env, "PI_WORKFLOWS_CRASH_LOG="+log)
	h.must("demo", "--dir", h.project)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// crashAt plays the demo until it kills itself at the n-th durable step, or
// ends because it has fewer this time.
func (h *house) crashAt(n int, flags ...string) {
	h.t.Helper()
	log := filepath.Join(h.home, "steps")
	cmd := h.command(append([]string{"demo", "--dir", h.project}, flags...)...)
	cmd.Env = append(cmd.Env, "PI_WORKFLOWS_CRASH_LOG="+log, fmt.Sprintf("PI_WORKFLOWS_CRASH_AT=%d", n))
	r := h.end(cmd)
	if r.code > 0 {
		h.t.Fatalf("the demo ended by itself, with exit code %d\n%s", r.code, r.stderr)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		h.t.Fatal(err)
	}
	if reached := strings.Count(string(text), "\n"); r.code < 0 && reached < n {
		h.t.Fatalf("killed at step %d, not at %d", reached, n)
	}
}
