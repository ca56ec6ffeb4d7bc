package gitmerge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/git"
	"piworkflows/testkit"
)

const (
	ready    = controller.Ready + "="
	checkedC = VerifiedCondition + "="
)

// A good branch, pass by pass: what is durable after each is what the next one
// starts from.
func TestMergePassByPass(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("good", "file", "1\n")
	h.Apply("good", h.spec("good", shell("true")))
	before := h.at("main")

	h.Pass() // the finalizer comes before anything that it cleans up
	raw, status := h.get("good")
	if !slices.Equal(raw.Metadata.Finalizers, []string{finalizer}) || status.Repository != h.dir || len(h.children("good")) != 0 {
		t.Errorf("finalizers %q, status %+v", raw.Metadata.Finalizers, status)
	}
	h.Passes() // the verification is asked for
	h.want("good", ready+"false Verifying", checkedC+"unknown Verifying")
	candidate := h.begin().prove()

	h.Pass() // the proposal comes before its effect
	h.want("good", ready+"false Merging", checkedC+"true CheckPassed")
	if _, status = h.get("good"); status.Proposal == nil || status.Proposal.Candidate != candidate || h.at("main") != before {
		t.Errorf("status %+v, main at %s", status, h.at("main"))
	}
	h.wantEffects("good")
	h.Pass() // the merge
	h.wantEffects("good", controller.EffectApplied)
	if h.at("main") != candidate {
		t.Errorf("main is at %s, want %s", h.at("main"), candidate)
	}
	if record := h.effects("good")[0]; !strings.Contains(record.Key, candidate) || record.ExternalRef != candidate {
		t.Errorf("effect %+v", record)
	}
	h.Passes()
	h.want("good", ready+"true Merged", checkedC+"true CheckPassed")
	h.wantSettled("good")
	if parents := run(t, h.dir, "rev-parse", "main^1", "main^2"); parents != before+"\n"+h.at("good") {
		t.Errorf("parents %s", parents)
	}
}

// wantSettled wants a resource that rests and owns nothing.
func (h *house) wantSettled(name string) {
	h.t.Helper()
	if n := h.Passes(); n != 0 {
		h.t.Errorf("%d passes were left to do", n)
	}
	h.Resource(name).WantSettled()
	if raw, status := h.get(name); len(raw.Metadata.Finalizers) != 0 || status.Repository != "" || status.Proposal != nil {
		h.t.Errorf("finalizers %q, status %+v", raw.Metadata.Finalizers, status)
	}
	h.wantNothingLeft()
}

// A pass that reads these facts has nothing to do, and says why.
func TestBlockedByWhatIsThere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		arrange func(h *house, s *Spec)
		want    []string
		says    string
	}{
		{"head moved", func(h *house, s *Spec) { h.push("b", "more", "1\n") },
			[]string{ready + "false HeadChanged", checkedC + "unknown HeadChanged"}, "apply the new head"},
		{"branch gone", func(h *house, s *Spec) { s.Branch = "none" }, []string{ready + "false BranchMissing"}, "no branch none"},
		{"target gone", func(h *house, s *Spec) { s.Target = "none" }, []string{ready + "false TargetMissing"}, "no branch none"},
		{"target symbolic", func(h *house, s *Spec) {
			run(h.t, h.dir, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
			s.Target = "alias"
		}, []string{ready + "false TargetSymbolic"}, "refs/heads/main"},
		{"target checked out", func(h *house, s *Spec) {
			run(h.t, h.dir, "worktree", "add", "--quiet", h.clone+"-2", "main")
		}, []string{ready + "false TargetCheckedOut"}, "clone-2"},
		{"target checked out in the main worktree", func(h *house, s *Spec) {
			s.Repository = h.clone
			run(h.t, h.clone, "checkout", "--quiet", "main")
		}, []string{ready + "false TargetCheckedOut"}, "clone"},
		{"merged by somebody", func(h *house, s *Spec) { h.move("main", s.ExpectedHead) },
			[]string{ready + "true AlreadyMerged", checkedC + "unknown AlreadyMerged"}, "main holds"},
		{"merged, then the branch was deleted", func(h *house, s *Spec) {
			h.move("main", s.ExpectedHead)
			run(h.t, h.dir, "branch", "-D", "b")
		}, []string{ready + "true AlreadyMerged"}, "main holds"},
		{"head unknown here", func(h *house, s *Spec) { s.ExpectedHead = strings.Repeat("12", 20) },
			[]string{ready + "false HeadChanged"}, "not at 1212"},
		{"head of another kind", func(h *house, s *Spec) { s.ExpectedHead = strings.Repeat("12", 32) },
			[]string{ready + "false HeadChanged"}, "not at 1212"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.push("b", "file", "1\n")
			s := h.spec("b", shell("true"))
			test.arrange(h, &s)
			main := h.at("main")
			h.Apply("b", s)
			if n := h.Passes(); n != 1 {
				t.Errorf("%d passes, want 1", n)
			}
			h.want("b", test.want...)
			if says := h.message("b"); !strings.Contains(says, test.says) {
				t.Errorf("Ready says %q, want %q", says, test.says)
			}
			if len(h.children("b")) != 0 || len(h.effects("b")) != 0 || h.at("main") != main {
				t.Error("something was done")
			}
			if raw, _ := h.get("b"); len(raw.Metadata.Finalizers) != 0 {
				t.Errorf("finalizers %q", raw.Metadata.Finalizers)
			}
		})
	}
}

func TestBlockedByTheMachine(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.push("b", "file", "1\n")
	old := houseOf(t, f, Options{Git: script(t, `echo "git version 2.37.1"`)})
	old.Apply("b", old.spec("b", shell("true")))
	old.Passes()
	old.want("b", ready+"false GitUnusable")
	if says := old.message("b"); !strings.Contains(says, "2.38") {
		t.Errorf("Ready says %q", says)
	}
	h := houseOf(t, f, Options{})
	h.Apply("b", h.spec("b", shell("true")))
	if err := os.Rename(f.dir, f.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	h.Passes()
	h.want("b", ready+"false RepositoryMissing")
}

// What a verification found stands in the conditions, and nothing is left of it.
func TestBlockedByAVerification(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{ReasonConflict, ReasonUnrelated, ReasonCheckFailed, ReasonCheckTimedOut} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.push("b", "file", "1\n")
			h.Apply("b", h.spec("b", shell("true")))
			h.Passes()
			c := h.begin()
			c.Succeed(VerifyOutput{Result: ResultBlocked, Reason: reason, Message: "it is so", Output: "line of the check"})
			h.Passes()
			h.want("b", ready+"false "+reason, checkedC+"false "+reason)
			if says := h.message("b"); says != "it is so\nline of the check" {
				t.Errorf("Ready says %q", says)
			}
			h.wantSettled("b")
			h.Resource("b").Wake() // the verdict stands: the same commits are not checked again
			h.Passes()
			h.want("b", ready+"false "+reason)
			h.wantSettled("b")
			if n := len(h.children("b")); n != 1 {
				t.Errorf("%d verifications", n)
			}
		})
	}
}

// A verification that could not be done says nothing about the merge. It is not
// repeated by itself, but as soon as somebody asks.
func TestVerificationThatProvedNothing(t *testing.T) {
	t.Parallel()
	ends := map[string]func(c *child){
		"failed": func(c *child) {
			c.Fail("no space left on device")
		},
		"stuck": func(c *child) {
			c.block(ReasonNoProgress, "route prepare came back with the same facts", "no space left on device")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.push("b", "file", "1\n")
			h.Apply("b", h.spec("b", shell("true")))
			h.Passes()
			end(h.begin())
			h.Passes()
			h.want("b", ready+"false VerificationFailed", checkedC+"unknown VerificationFailed")
			if says := h.message("b"); !strings.Contains(says, "no space left on device") || !strings.Contains(says, "reconcile") {
				t.Errorf("Ready says %q", says)
			}
			h.wantSettled("b")
			h.Resource("b").Wake()
			h.Passes()
			h.begin().prove()
			h.Passes()
			h.want("b", ready+"true Merged")
			h.wantSettled("b")
		})
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	candidate := h.begin().prove()
	h.Passes()
	h.want("b", ready+"false AwaitingApproval", checkedC+"true CheckPassed")
	raw, status := h.get("b")
	if status.Candidate != candidate || len(raw.Metadata.Finalizers) != 1 {
		t.Errorf("status %+v, finalizers %q", status, raw.Metadata.Finalizers)
	}
	// The ref alone keeps the candidate.
	run(t, h.dir, "gc", "--quiet", "--prune=now")
	s.Approved = true
	h.Apply("b", s)
	h.Passes()
	h.want("b", ready+"true Merged")
	if h.at("main") != candidate || len(h.children("b")) != 1 {
		t.Errorf("main at %s after %d verifications", h.at("main"), len(h.children("b")))
	}
	h.wantSettled("b")
}

// A candidate that nothing keeps is made and checked again before it is merged.
func TestCandidateLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	s.Approved = false
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Passes()
	if err := forget(t.Context(), h.repo, raw(h, "b").Metadata.UID); err != nil {
		t.Fatal(err)
	}
	run(t, h.dir, "gc", "--quiet", "--prune=now")
	s.Approved = true
	h.Apply("b", s)
	h.Passes()
	h.want("b", ready+"false Verifying")
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

func raw(h *house, name string) controller.Raw {
	h.t.Helper()
	r, _ := h.get(name)
	return r
}

// A target that moves makes another verification; what was proved on the old one
// is never merged.
func TestTargetMovesWhileVerifying(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	c := h.begin()
	moved := h.push("main", "other", "1\n")
	h.Resource("b").Wake()
	h.Passes() // one verification at a time
	if len(h.children("b")) != 1 {
		t.Error("a second verification was asked for beside the first")
	}
	if c.Cancelled() == "" {
		t.Error("the verification goes on, whatever its result is good for")
	}
	stale := c.prove()
	h.Passes()
	h.want("b", ready+"false Verifying")
	if h.at("main") != moved {
		t.Errorf("main is at %s", h.at("main"))
	}
	fresh := h.begin()
	if fresh.in.Onto != moved {
		t.Errorf("verified onto %s, want %s", fresh.in.Onto, moved)
	}
	if candidate := fresh.prove(); candidate == stale {
		t.Error("the candidate is the stale one")
	}
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// What a running verification works with is left to it until it has ended.
func TestHeadMovesWhileVerifying(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	c := h.begin()
	if err := workspaceOf(h.options).add(t.Context(), h.repo, c.in.Owner, c.Row().RunID, git.Hash(h.at("main"))); err != nil {
		t.Fatal(err)
	}
	h.push("b", "more", "1\n")
	h.Resource("b").Wake()
	h.Passes()
	h.want("b", ready+"false HeadChanged")
	if left := h.leftovers(); len(left) != 2 || len(raw(h, "b").Metadata.Finalizers) != 1 { // worktree and folder
		t.Errorf("there is %q", left)
	}
	if c.Cancelled() == "" {
		t.Error("the verification goes on, whatever its result is good for")
	}
	c.block(ReasonHeadChanged, "it moved")
	h.Passes()
	h.want("b", ready+"false HeadChanged")
	h.wantSettled("b")
}

// A verdict about a moment that has passed does not stand.
func TestVerdictThatHasPassed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	h.begin().block(ReasonTargetChanged, "the target was elsewhere")
	h.Passes()
	h.want("b", ready+"false Verifying")
	h.begin().block(ReasonHeadChanged, "the head was elsewhere")
	h.Passes()
	h.want("b", ready+"false HeadChanged")
	h.wantSettled("b")
	h.Resource("b").Wake()
	h.Passes()
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// A ref that moves between proposal and merge makes the provider refuse it.
func TestRefsMoveBeforeTheMerge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		move func(h *house)
		then func(h *house)
	}{
		{"target", func(h *house) { h.push("main", "other", "1\n") }, func(h *house) {
			h.want("b", ready+"false Verifying")
			h.begin().prove()
			h.Passes()
			h.want("b", ready+"true Merged")
			h.wantEffects("b", controller.EffectRejected, controller.EffectApplied)
		}},
		{"head", func(h *house) { h.push("b", "more", "1\n") }, func(h *house) {
			h.want("b", ready+"false HeadChanged")
			h.wantEffects("b", controller.EffectRejected)
		}},
		{"head, and back", func(h *house) {
			h.move("b", h.at("main"))
			h.Pass()
			h.move("b", run(h.t, h.clone, "rev-parse", "b"))
		}, func(h *house) {
			h.want("b", ready+"true Merged")
			h.wantEffects("b", controller.EffectRejected, controller.EffectApplied)
		}},
		{"target gone", func(h *house) { run(h.t, h.dir, "update-ref", "-d", "refs/heads/main") }, func(h *house) {
			h.want("b", ready+"false TargetMissing")
			h.wantEffects("b", controller.EffectRejected)
		}},
		{"repository gone", func(h *house) {
			if err := os.Rename(h.dir, h.dir+"-away"); err != nil {
				h.t.Fatal(err)
			}
			h.Passes()
			h.want("b", ready+"false RepositoryMissing")
			if err := os.Rename(h.dir+"-away", h.dir); err != nil {
				h.t.Fatal(err)
			}
			h.Resource("b").Wake()
			h.Passes()
		}, func(h *house) {
			h.want("b", ready+"true Merged")
			h.wantEffects("b", controller.EffectRejected, controller.EffectApplied)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.push("b", "file", "1\n")
			h.Apply("b", h.spec("b", shell("true")))
			h.Passes()
			h.begin().prove()
			h.Pass() // proposed
			test.move(h)
			h.Passes()
			test.then(h)
			h.wantSettled("b")
		})
	}
}

func TestTargetIsCheckedOutBeforeTheMerge(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	h.begin().prove()
	h.Pass()
	tree := h.clone + "-2"
	run(t, h.dir, "worktree", "add", "--quiet", tree, "main")
	h.Passes()
	h.want("b", ready+"false TargetCheckedOut")
	h.wantEffects("b", controller.EffectRejected)
	run(t, h.dir, "worktree", "remove", tree)
	h.Resource("b").Wake()
	h.Passes()
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// The process dies, or the store does, between the merge and its receipt: the
// next pass looks and finds it.
func TestReceiptLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	candidate := h.begin().prove()
	h.Pass()
	h.Crash(&testkit.Crash{Step: testkit.StepFinishEffect})
	h.Pass()
	h.wantEffects("b", controller.EffectPending)
	if h.at("main") != candidate {
		t.Errorf("main is at %s", h.at("main"))
	}
	h.move("main", h.push("after", "after", "1\n")) // from here a second merge would be refused
	h.move("main", candidate)
	h.Passes()
	h.wantEffects("b", controller.EffectApplied)
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
	if events := h.Resource("b").Events(controller.EventEffectRecovered); len(events) != 1 {
		t.Errorf("%d recoveries", len(events))
	}
}

// Wherever the process dies, the branch is merged, and once.
func TestABranchIsMergedOnceWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(kt testkit.T, c *testkit.Crash) {
		h := houseOf(kt, newForge(t), Options{})
		h.Crash(c)
		h.push("b", "file", "1\n")
		h.Apply("b", h.spec("b", shell("true")))
		h.Passes()
		candidate := h.begin().prove()
		h.Passes()
		h.want("b", ready+"true Merged")
		h.wantEffects("b", controller.EffectApplied)
		h.wantSettled("b")
		if h.at("main") != candidate {
			kt.Errorf("main is at %s", h.at("main"))
		}
	})
}

func TestMergeUndone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	before := h.at("main")
	h.push("b", "file", "1\n")
	s := h.spec("b", shell("true"))
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Passes()
	h.move("main", before)
	h.Resource("b").Wake()
	h.Passes()
	h.want("b", ready+"false MergeUndone")
	if h.at("main") != before {
		t.Error("it was merged again without being asked for")
	}
	h.wantSettled("b")
	s.CheckTimeout = Duration(time.Minute)
	h.Apply("b", s)
	h.Passes()
	h.begin().prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantEffects("b", controller.EffectApplied, controller.EffectApplied)
	h.wantSettled("b")
}

func TestInterruptedVerificationGetsAnotherAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	first := h.begin()
	first.Interrupt("the host died")
	h.Passes()
	h.want("b", ready+"false Verifying")
	h.Clock.Advance(controller.ChildBackoffBase)
	second := h.begin()
	if second.Row().RunID == first.Row().RunID || second.Row().Attempt != 2 || len(h.children("b")) != 1 {
		t.Errorf("second attempt %+v", second.Row())
	}
	second.prove()
	h.Passes()
	h.want("b", ready+"true Merged")
	h.wantSettled("b")
}

// Two branches are verified on the same target: one is merged, the other is
// verified again on what came of it.
func TestTwoBranchesForOneTarget(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, b := range []string{"one", "two"} {
		h.push(b, "file-"+b, "1\n")
		h.Apply(b, h.spec(b, shell("true")))
	}
	h.Passes()
	h.begin().prove()
	h.begin().prove()
	h.Passes()
	for c := h.start(); c != nil; c = h.start() {
		c.prove()
		h.Passes()
	}
	for _, b := range []string{"one", "two"} {
		h.want(b, ready+"true Merged")
		run(t, h.dir, "cat-file", "-e", "main:file-"+b)
	}
	if n := len(h.children("one")) + len(h.children("two")); n != 3 {
		t.Errorf("%d verifications, want 3", n)
	}
	h.wantNothingLeft()
}

func TestCleanupIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	broken := filepath.Join(t.TempDir(), "broken")
	git := script(t, `case "$*" in *"worktree list"*) if [ -e "`+broken+`" ] && [ "$AGAIN" = "" ]; then echo no >&2; exit 9; fi;; esac; exec git "$@"`)
	h := houseOf(t, f, Options{Git: git})
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", shell("true")))
	h.Passes()
	c := h.begin()
	h.push("b", "more", "1\n") // so that the next pass needs no list of worktrees
	c.block(ReasonHeadChanged, "it moved")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.move("b", h.at("main"))
	h.move("main", run(t, h.clone, "rev-parse", "b")) // merged: no list either
	h.Passes()
	h.want("b", ready+"true AlreadyMerged")
	if r := raw(h, "b"); len(r.Metadata.Finalizers) != 1 {
		t.Error("the finalizer is gone although the cleanup failed")
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	h.Clock.Advance(cleanupRetry)
	if n := h.Passes(); n != 1 {
		t.Errorf("%d passes", n)
	}
	h.wantSettled("b")
}
