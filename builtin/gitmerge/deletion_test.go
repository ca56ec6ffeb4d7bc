package gitmerge

import (
	"os"
	"path/filepath"
	"testing"

	"piworkflows/controller"
	"piworkflows/internal/git"
	"piworkflows/testkit"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// arrange brings the resource b to the moment of its deletion, and returns
		// what has to happen before it goes on.
		arrange func(h *house) (then func())
		merged  bool
	}{
		{"before the first pass", func(*house) func() { return nil }, false},
		{"with a finalizer only", func(h *house) func() { h.Pass(); return nil }, false},
		{"while verifying", func(h *house) func() {
			h.Passes()
			c := h.begin()
			return func() {
				h.want("b", ready+"false Deleting")
				c.prove()
			}
		}, false},
		{"after an interruption", func(h *house) func() {
			h.Passes()
			h.begin().Interrupt("")
			return nil
		}, false},
		{"proposed", func(h *house) func() {
			h.Passes()
			h.begin().prove()
			h.Pass()
			return nil
		}, false},
		{"merged, and the receipt lost", func(h *house) func() {
			h.Passes()
			h.begin().prove()
			h.Pass()
			h.Crash(&testkit.Crash{Step: testkit.StepFinishEffect})
			h.Pass()
			return nil
		}, true},
		{"merged", func(h *house) func() {
			h.Passes()
			h.begin().prove()
			h.Passes()
			return nil
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			before := h.at("main")
			h.push("b", "file", "1\n")
			h.Apply("b", h.spec("b", shell("true")))
			then := test.arrange(h)
			h.Resource("b").Delete()
			h.Passes()
			if then != nil {
				if h.Resource("b").Gone() {
					t.Fatal("gone while it was verified")
				}
				then()
				h.Passes()
			}
			if !h.Resource("b").Gone() {
				t.Errorf("still there: %s", h.message("b"))
			}
			if merged := h.at("main") != before; merged != test.merged {
				t.Errorf("merged: %v", merged)
			}
			h.wantNothingLeft()
		})
	}
}

func TestDeletionRemovesWhatIsThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	c := h.begin()
	w := workspaceOf(h.options)
	if err := w.add(t.Context(), h.repo, c.in.Owner, c.Row().RunID, git.Hash(h.at("main"))); err != nil {
		t.Fatal(err)
	}
	c.prove()
	h.Passes()
	if left := h.leftovers(); len(left) != 3 { // worktree, ref, folder
		t.Fatalf("there is %q", left)
	}
	h.Resource("b").Delete()
	h.Passes()
	if !h.Resource("b").Gone() {
		t.Error("still there")
	}
	h.wantNothingLeft()
}

func TestDeletionWithoutItsRepository(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Pass()
	owner := raw(h, "b").Metadata.UID
	if err := os.MkdirAll(filepath.Join(h.root, owner, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	h.Resource("b").Delete()
	h.Passes()
	if !h.Resource("b").Gone() {
		t.Error("still there")
	}
	if entries, err := os.ReadDir(h.root); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A spec that names another repository leaves nothing in the former one.
func TestRepositoryChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Passes()
	other := newForge(t)
	other.root = h.root
	other.push("b", "file", "other\n")
	next := s
	next.Repository, next.ExpectedHead, next.Approved = other.dir, other.at("b"), true
	h.Apply("b", next)
	h.Passes()
	h.wantNothingLeft()
	c := h.begin()
	if c.in.Repository != other.dir {
		t.Errorf("verified in %s", c.in.Repository)
	}
	c.prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	run(t, other.dir, "cat-file", "-e", "main:file")
	other.wantNothingLeft()
}

// A proposal of an earlier spec is not made any more; the new spec decides.
func TestSpecChangesAfterTheProposal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	before := h.at("main")
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Pass()
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	h.want("b", ready+"false AwaitingApproval")
	if h.at("main") != before {
		t.Error("it was merged without an approval")
	}
	s.Approved = true
	h.Apply("b", s)
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantEffects("b", controller.EffectRejected, controller.EffectApplied)
}
