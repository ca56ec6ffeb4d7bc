package gitmerge

import (
	"os"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/internal/git"
	"piworkflows/testkit"
)

// proposed is a forge with a candidate for main, and the driver of its proposal.
func proposed(t *testing.T) (*trial, merger) {
	t.Helper()
	v := newTrial(t, "true")
	v.leave("run-1", "")
	if err := (workspace{root: v.root}).sweep(t.Context(), v.repo, testOwner); err != nil {
		t.Fatal(err)
	}
	m := merger{workspace: workspaceOf(v.options), repository: v.dir, proposal: Proposal{
		Branch: "refs/heads/b", Target: "refs/heads/main", Head: v.in.Head, Old: v.in.Onto,
		Candidate: run(t, v.dir, "rev-parse", candidateRef(testOwner)),
	}}
	return v, m
}

func (m merger) wantObserved(t *testing.T, want controller.ObservedState) {
	t.Helper()
	if seen, err := m.observe(t.Context()); err != nil || seen.State != want {
		t.Errorf("observed %+v, %v; want %s", seen, err, want)
	}
}

func (m merger) wantApplied(t *testing.T, want controller.EffectState, reason string) {
	t.Helper()
	if a, err := m.apply(t.Context(), "token"); err != nil || a.State != want || !strings.Contains(a.Reason, reason) {
		t.Errorf("applied %+v, %v; want %s %q", a, err, want, reason)
	}
}

func TestMergerMovesTheTarget(t *testing.T) {
	t.Parallel()
	v, m := proposed(t)
	m.wantObserved(t, controller.ObservedNotApplied)
	m.wantApplied(t, controller.EffectApplied, "")
	m.wantObserved(t, controller.ObservedApplied)
	v.move("main", run(t, v.dir, "commit-tree", "-m", "next", "-p", "main", "main^{tree}"))
	m.wantObserved(t, controller.ObservedApplied) // behind the target
	v.move("main", m.proposal.Old)
	m.wantObserved(t, controller.ObservedNotApplied)
}

// A call of ours that was thought to be dead came first: the refused transaction
// must not be taken for a refused merge.
func TestMergerFindsThatAnEarlierCallCameFirst(t *testing.T) {
	t.Parallel()
	v, m := proposed(t)
	v.move("main", m.proposal.Candidate)
	m.wantApplied(t, controller.EffectApplied, "")
	if v.at("main") != m.proposal.Candidate {
		t.Errorf("main is at %s", v.at("main"))
	}
}

func TestMergerRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		arrange func(v *trial, m *merger)
		reason  string
	}{
		{"with an objection", func(_ *trial, m *merger) { m.objection = "not wanted any more" }, "not wanted any more"},
		{"a head that moved", func(v *trial, m *merger) { v.move("b", m.proposal.Old) }, "refs/heads/b is at"},
		{"a head that is gone", func(v *trial, _ *merger) { run(v.t, v.dir, "branch", "-D", "b") }, "refs/heads/b is at no commit"},
		{"a target that moved", func(v *trial, m *merger) { v.move("main", m.proposal.Head) }, "refs/heads/main is at"},
		{"a target that is gone", func(v *trial, _ *merger) { run(v.t, v.dir, "update-ref", "-d", "refs/heads/main") }, "refs/heads/main is at no commit"},
		{"a target that is checked out", func(v *trial, _ *merger) {
			run(v.t, v.dir, "worktree", "add", "--quiet", v.clone+"-2", "main")
		}, "checked out"},
		{"a repository that is gone", func(v *trial, _ *merger) {
			if err := os.Rename(v.dir, v.dir+"-away"); err != nil {
				v.t.Fatal(err)
			}
		}, "no Git repository"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, m := proposed(t)
			test.arrange(v, &m)
			m.wantApplied(t, controller.EffectRejected, test.reason)
			m.wantObserved(t, controller.ObservedNotApplied)
		})
	}
}

// What is neither done nor refused is an error: the next pass looks again.
func TestMergerDoesNotKnow(t *testing.T) {
	t.Parallel()
	v, m := proposed(t)
	lock := v.dir + "/refs/heads/main.lock"
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := m.apply(t.Context(), "token"); !isA[*git.CommandError](err) {
		t.Errorf("applied %+v, %v; want an error", a, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	m.wantApplied(t, controller.EffectApplied, "")
}

// The receipt of a merge is lost, and the spec changes before the next pass: the
// effect is finished under the generation that wanted it.
func TestSpecChangesAfterALostReceipt(t *testing.T) {
	t.Parallel()
	for name, undone := range map[string]bool{"merged": false, "not merged": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			before := h.at("main")
			h.push("b", "file", "1\n")
			s := h.spec("b", shell("true"))
			h.Apply("b", s)
			h.Passes()
			candidate := h.begin().prove()
			h.Pass()
			h.Crash(&testkit.Crash{Step: testkit.StepFinishEffect})
			h.Pass()
			if undone { // as if the process had died before the call
				h.move("main", before)
			}
			s.Approved = false
			h.Apply("b", s)
			h.Passes()
			if undone {
				h.want("b", ready+"false AwaitingApproval")
				h.wantEffects("b", controller.EffectRejected)
			} else {
				h.want("b", ready+"true Merged")
				h.wantEffects("b", controller.EffectApplied)
				h.wantSettled("b")
			}
			if merged := h.at("main") == candidate; merged == undone {
				t.Errorf("main is at %s", h.at("main"))
			}
			h.Resource("b").Delete()
			h.Passes()
			if !h.Resource("b").Gone() {
				t.Error("it cannot be deleted")
			}
			h.wantNothingLeft()
		})
	}
}
