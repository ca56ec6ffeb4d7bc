package main

import (
	"net/http"
	"testing"

	"piworkflows/controller"
	"piworkflows/examples/pullrequest/forge"
	"piworkflows/examples/pullrequest/provider"
	"piworkflows/testkit"
)

func TestAnApprovedChangeIsMerged(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *spec) { s.Approved = false })
	b.want("false Reviewing")
	b.reviewed()
	b.want("false ChecksPending")
	b.res.WantDelayed(lookAgain)
	b.forge.Check(repository, b.number, checkName, "")
	b.Advance(lookAgain)
	b.res.WantConditions("Ready=false ChecksPending")
	b.forge.Check(repository, b.number, checkName, "success")
	b.Advance(lookAgain)
	b.res.WantConditions("Ready=false AwaitingApproval")
	b.res.WantSettled()
	if b.merges() != 0 {
		t.Error("merged without an approval")
	}
	b.apply(nil)
	b.want("true Merged")
	b.res.WantEffects(controller.EffectApplied)
	if pull := b.forge.Pull(repository, b.number); !pull.Merged || b.res.Effects()[0].ExternalRef != pull.MergeCommit || b.merges() != 1 {
		t.Errorf("the pull request is %+v, the effect %+v", pull, b.res.Effects()[0])
	}
	if n := len(b.res.Children()); n != 1 {
		t.Errorf("%d child runs: an approval is no reason for another review", n)
	}
}

// However often the key is woken, there is one review of one commit.
func TestEventsConvergeOnOneChild(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for range 5 {
		b.want("false Reviewing")
		b.res.Wake()
	}
	if n := len(b.res.Children()); n != 1 {
		t.Errorf("%d child runs", n)
	}
}

func TestWhatIsNotMerged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*spec)
		do     func(b *bench)
		want   string
	}{
		{"a failed check", nil, func(b *bench) { b.reviewed(); b.forge.Check(repository, b.number, checkName, "failure") }, "false CheckFailed"},
		{"a defect", nil, func(b *bench) { b.reviewed(finding{"file", "it is wrong"}) }, "false DefectFound"},
		{"a review that fails", nil, func(b *bench) { b.WantChild().Fail("no model") }, "false ReviewFailed"},
		{"another head", nil, func(b *bench) { b.forge.Push(repository, b.number, forge.Files{"x": ""}); b.res.Wake() }, "false HeadChanged"},
		{"no such pull request", func(s *spec) { s.Number = 99 }, func(*bench) {}, "false PullRequestMissing"},
		{
			"a head that changed during the review", nil,
			func(b *bench) {
				b.forge.Push(repository, b.number, forge.Files{"x": ""})
				b.forge.Check(repository, b.number, checkName, "success")
				b.reviewed()
			}, "false HeadChanged",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, test.change)
			b.Passes()
			test.do(b)
			b.want(test.want)
			b.res.WantSettled()
			b.res.WantEffects()
			if calls := b.forge.Merges(); len(calls) > 0 {
				t.Errorf("merges were asked for: %+v", calls)
			}
		})
	}
}

// A review of what is not there any more ends; of what is there again it begins anew.
func TestAReviewOfAnotherHeadIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.want("false Reviewing")
	old := b.WantChild()
	b.forge.Push(repository, b.number, forge.Files{"x": ""})
	b.res.Wake()
	b.want("false HeadChanged")
	if old.Cancelled() == "" {
		t.Error("the review of the old head goes on")
	}
	head := b.forge.Pull(repository, b.number).Head
	b.apply(func(s *spec) { s.ExpectedHead = head })
	b.want("false Reviewing")
	b.apply(nil)
	b.want("false HeadChanged")
	old.Fail("cancelled")
	b.apply(func(s *spec) { s.ExpectedHead = head })
	b.want("false Reviewing")
	var asked subject
	again := b.WantChild()
	again.Input(&asked)
	if asked.Head != head || again.Cancelled() != "" {
		t.Errorf("a review of %s goes on, of %s is wanted; cancelled: %q", asked.Head, head, again.Cancelled())
	}
}

// The head changes when everything was decided, a moment before the merge: GitHub
// refuses, and nothing is merged.
func TestAChangedHeadIsNeverMerged(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.forge.Check(repository, b.number, checkName, "success")
	b.forge.PushBeforeMerge(repository, b.number, forge.Files{"file": "something else\n"})
	b.Passes()
	b.reviewed()
	b.want("false HeadChanged")
	b.res.WantEffects(controller.EffectRejected)
	calls := b.forge.Merges()
	if len(calls) != 1 || calls[0].Head != b.head || calls[0].Status != http.StatusConflict {
		t.Errorf("merges were asked for: %+v", calls)
	}
	b.res.Wake()
	b.want("false HeadChanged")
	if n := len(b.forge.Merges()); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

// An approval that is taken back before the merge is tried counts.
func TestAnApprovalCanBeTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.forge.Check(repository, b.number, checkName, "success")
	b.Passes()
	b.reviewed()
	b.Pass() // the proposal
	b.res.WantConditions("Ready=false Merging")
	b.apply(func(s *spec) { s.Approved = false })
	b.want("false AwaitingApproval")
	b.res.WantEffects(controller.EffectRejected)
	b.apply(nil)
	b.want("true Merged")
	if b.merges() != 1 || len(b.res.Children()) != 1 {
		t.Errorf("%d merges, %d child runs", b.merges(), len(b.res.Children()))
	}
}

// The merge is made and its answer is lost: it is looked for, and not made again.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.forge.Check(repository, b.number, checkName, "success")
	b.forge.LoseAnswer()
	b.Passes()
	b.reviewed()
	b.Settle()
	b.want("true Merged")
	b.res.WantEffects(controller.EffectApplied)
	if calls := b.forge.Merges(); len(calls) != 1 {
		t.Errorf("merges were asked for: %+v", calls)
	}
}

// Dead at any step, the process merges once.
func TestMergeOnceWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(t testkit.T, c *testkit.Crash) {
		b := newBench(t, nil)
		b.forge.Check(repository, b.number, checkName, "success")
		b.Crash(c)
		b.Settle()
		b.reviewed()
		b.Settle()
		b.res.WantConditions("Ready=true Merged")
		b.res.WantEffects(controller.EffectApplied)
		if n := b.merges(); n != 1 {
			t.Errorf("merged %d times", n)
		}
	})
}

// A repair is one commit on the branch, which nobody has approved.
func TestARepairIsCommittedOnceAndNotMerged(t *testing.T) {
	t.Parallel()
	testkit.EveryCrash(t, func(t testkit.T, c *testkit.Crash) {
		b := newBench(t, func(s *spec) { s.Repair = true })
		b.forge.Check(repository, b.number, checkName, "success")
		b.Crash(c)
		b.Settle()
		b.reviewed(finding{"file", "it is wrong"})
		b.Settle()
		repair := b.WantChild()
		repair.Succeed(mend{Head: b.head, Files: []provider.File{{Path: "file", Content: "better\n"}}})
		b.Settle()
		b.res.WantConditions("Ready=false HeadChanged")
		b.res.WantEffects(controller.EffectApplied)
		head := b.forge.Pull(repository, b.number).Head
		if head == b.head || b.forge.File(repository, head, "file") != "better\n" || len(b.forge.Merges()) != 0 {
			t.Errorf("the head is %s, merges: %+v", head, b.forge.Merges())
		}
		if s := testkit.Status[status](b.res); s.Repaired != head {
			t.Errorf("status %+v", s)
		}
	})
}

// A repair does what it may do, whatever the model wrote.
func TestARepairThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]provider.File{
		"another file": {{Path: ".github/workflows/x.yml", Content: ""}}, "nothing": {}, "a path out": {{Path: "../file", Content: ""}},
	} {
		b := newBench(t, func(s *spec) { s.Repair = true })
		b.Passes()
		b.reviewed(finding{"file", "it is wrong"})
		b.Passes()
		b.WantChild().Succeed(mend{Head: b.head, Files: files})
		b.want("false DefectFound")
		if head := b.forge.Pull(repository, b.number).Head; head != b.head {
			t.Errorf("%s: the head is %s", name, head)
		}
	}
}

func TestASpecIsChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	err := b.Resource(repository + "#1").TryApply(spec{Repository: "nothing", ExpectedHead: "abc"})
	if err == nil {
		t.Fatal("accepted")
	}
	b.Apply("another-key", spec{Repository: repository, Number: 1, ExpectedHead: b.head, Checks: []string{checkName}})
	b.Passes()
	b.Resource("another-key").WantConditions("Ready=false WrongKey")
}
