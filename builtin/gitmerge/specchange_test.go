package gitmerge

import (
	"testing"

	"piworkflows/controller"
	"piworkflows/testkit"
)

// verifying brings the resource b to the moment in which its check runs.
func (h *house) verifying() (Spec, *child) {
	h.t.Helper()
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("old"))
	h.Apply("b", s)
	h.Passes()
	return s, h.begin()
}

// wantVerifications counts the verifications of b, and how many were cancelled.
func (h *house) wantVerifications(all, cancelled int) {
	h.t.Helper()
	list := h.children("b")
	n := 0
	for _, c := range list {
		if c.Code == controller.CodeCancelled {
			n++
		}
	}
	if len(list) != all || n != cancelled {
		h.t.Errorf("%d verifications, %d cancelled; want %d and %d", len(list), n, all, cancelled)
	}
}

// The check of an earlier spec is stopped, wherever the process dies, and only
// that of the new one decides.
func TestSpecChangesWhileVerifying(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(kt testkit.T, crash *testkit.Crash) {
		h := houseOf(kt, newForge(t), Options{})
		s, old := h.verifying()
		h.Crash(crash)
		s.Check = shell("new")
		h.Apply("b", s)
		h.Passes()
		h.want("b", ready+"false Verifying", checkedC+"unknown Verifying")
		h.Resource("b").WantNext(controller.ReasonChildCancelling)
		if old.Cancelled() == "" {
			kt.Errorf("the old check goes on")
		}
		if c := h.start(); c != nil {
			kt.Errorf("run %s verifies beside the old one", c.Row().RunID)
		}
		old.Fail("the run was cancelled")
		h.Passes()
		h.want("b", ready+"false Verifying", checkedC+"unknown Verifying")
		fresh := h.begin()
		if fresh.in.Check[2] != "new" {
			kt.Errorf("it checks %q", fresh.in.Check)
		}
		candidate := fresh.prove()
		h.Passes()
		h.want("b", ready+"true Merged")
		h.wantEffects("b", controller.EffectApplied)
		h.wantSettled("b")
		h.wantVerifications(2, 1)
		if h.at("main") != candidate {
			kt.Errorf("main is at %s", h.at("main"))
		}
	})
}

// What the old check found after all says nothing about the new spec.
func TestVerdictOfAnEarlierSpec(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, old := h.verifying()
	s.Check = shell("new")
	h.Apply("b", s)
	h.Passes()
	old.block(ReasonCheckFailed, "the old check failed")
	h.Passes()
	h.want("b", ready+"false Verifying", checkedC+"unknown Verifying")
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// A spec that comes back is verified anew: its first verification was given up.
func TestSpecChangesAndComesBack(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(h *house, old *child, back func()){
		"before its check has ended": func(_ *house, old *child, back func()) {
			back()
			old.Fail("cancelled")
		},
		"after that": func(h *house, old *child, back func()) {
			old.Fail("cancelled")
			h.Passes()
			back()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			before, old := h.verifying()
			after := before
			after.Check = shell("new")
			h.Apply("b", after)
			h.Passes()
			story(h, old, func() {
				h.Apply("b", before)
				h.Passes()
			})
			h.Passes()
			h.want("b", ready+"false Verifying")
			fresh := h.begin()
			if fresh.in.Check[2] != "old" || fresh.Row().RunID == old.Row().RunID {
				t.Errorf("run %s checks %q", fresh.Row().RunID, fresh.in.Check)
			}
			if c := h.start(); c != nil {
				t.Errorf("run %s verifies too", c.Row().RunID)
			}
			fresh.prove()
			h.Passes()
			h.want("b", ready+"true Merged")
			h.wantSettled("b")
		})
	}
}

// An approval is no reason to check again.
func TestApprovalWhileVerifying(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, c := h.verifying()
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	s.Approved = true
	h.Apply("b", s)
	h.Passes()
	if reason := c.Cancelled(); reason != "" {
		t.Errorf("cancelled: %s", reason)
	}
	c.prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantVerifications(1, 0)
}

// Nothing is left in the former repository, and nothing goes on there.
func TestRepositoryChangesWhileVerifying(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, old := h.verifying()
	other := newForge(t)
	other.root = h.root
	other.push("b", "file", "other\n")
	s.Repository, s.ExpectedHead = other.dir, other.at("b")
	h.Apply("b", s)
	h.Passes()
	if old.Cancelled() == "" {
		t.Error("the old check goes on")
	}
	old.Fail("cancelled")
	h.Passes()
	h.wantNothingLeft()
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantVerifications(2, 1)
	other.wantNothingLeft()
}

// A spec for which there is nothing to verify stops the check too.
func TestNothingToVerifyAnyMore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, old := h.verifying()
	missing := s
	missing.Branch = "none"
	h.Apply("b", missing)
	h.Passes()
	h.want("b", ready+"false BranchMissing")
	if old.Cancelled() == "" {
		t.Error("the old check goes on")
	}
	old.Fail("cancelled")
	h.Passes()
	h.want("b", ready+"false BranchMissing")
	h.wantSettled("b")
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// The worktree of the old check goes with it, and its command is ended.
func TestStoryOfASpecThatChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, r, _ := h.checking()
	h.Apply("b", h.spec("b", shell("test -f file")))
	h.Passes()
	if c.Cancelled() == "" {
		t.Fatal("the old check goes on")
	}
	r.Cancel() // as the host does then
	c.end(r.Wait())
	h.wantNothingLeft()
	h.settle()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
	h.wantVerifications(2, 1)
}
