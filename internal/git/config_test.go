package git_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piworkflows/internal/git"
)

// No hook and no monitor of the repository runs because we pass by.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.commit(t, "feature", "a", "1\n")
	ran := filepath.Join(tempDir(t), "ran")
	trap := script(t, "echo $0 >> "+ran)
	hooks := filepath.Join(w.dir, ".git", "hooks")
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change"} {
		write(t, filepath.Join(hooks, hook), "")
		if err := os.Remove(filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(trap, filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, w.dir, "config", "core.fsmonitor", trap)
	run(t, w.dir, "update-ref", "refs/heads/control", "main")
	if !exists(ran) {
		t.Fatal("the trap does not work; the test shows nothing")
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(tempDir(t), "tree")
	if err := w.repo.UpdateRefs(t.Context(), "test", git.Move(main, w.hash(t, "main"), b)); err != nil {
		t.Fatal(err)
	}
	if err := w.repo.WorktreeAdd(t.Context(), tree, b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.repo.WorktreeClean(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if err := w.repo.WorktreeRemove(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if log, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", log)
	}
}

// Git counts what it syncs and tells its trace.
func TestObjectsAndRefsAreSynced(t *testing.T) {
	home := tempDir(t)
	trace := filepath.Join(home, "trace")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\tfsync = none\n[trace2]\n\teventTarget = "+trace+"\n")
	w := newWorld(t)
	w.commit(t, "feature", "a", "1\n")
	w.commit(t, "main", "b", "1\n")
	synced := func() int {
		t.Helper()
		n := hardwareFlushes(t, trace)
		if err := os.Remove(trace); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := synced(); n != 0 {
		t.Fatalf("%d syncs although they are off; the test shows nothing", n)
	}
	merge, err := w.repo.MergeTree(t.Context(), w.hash(t, "main"), w.hash(t, "feature"))
	if n := synced(); err != nil || n != 1 {
		t.Errorf("merge: %d syncs, %v; want 1, of the tree", n, err)
	}
	commit, err := w.repo.CommitTree(t.Context(), git.Commit{Tree: merge.Tree, Message: "m", Time: time.Unix(1, 0)})
	if n := synced(); err != nil || n != 1 {
		t.Errorf("commit: %d syncs, %v; want 1", n, err)
	}
	err = w.repo.UpdateRefs(t.Context(), "test", git.Set(ours, commit))
	if n := synced(); err != nil || n != 1 {
		t.Errorf("ref: %d syncs, %v; want 1", n, err)
	}
}

// hardwareFlushes adds up the counters of a trace of events.
func hardwareFlushes(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	total := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var event struct {
			Category string      `json:"category"`
			Key      string      `json:"key"`
			Value    json.Number `json:"value"`
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Category != "fsync" || event.Key != "fsync/hardware-flush" {
			continue
		}
		n, err := event.Value.Int64()
		if err != nil {
			t.Fatal(err)
		}
		total += int(n)
	}
	return total
}
