package gitmerge

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// engineRun starts the engine on a claimed child run.
func (c *child) engineRun() *engine.Run {
	c.h.t.Helper()
	g, err := workflow.Compile(VerifyBranch(c.h.options))
	if err != nil {
		c.h.t.Fatal(err)
	}
	e := engine.New(engine.Options{RunsDir: filepath.Join(filepath.Dir(c.h.dir), "runs"), KillGrace: 50 * time.Millisecond})
	r, err := e.Start(c.h.t.Context(), g, engine.StartOptions{
		RunID: c.Row().RunID, Input: c.Row().Input,
		Fence: func(ctx context.Context) error { return c.h.Store().CheckRun(ctx, c.Claim()) },
	})
	if err != nil {
		c.h.t.Fatal(err)
	}
	return r
}

// end tells the store how a run ended, as a host does.
func (c *child) end(r engine.Result) {
	c.h.t.Helper()
	o := controller.ChildOutcome{State: controller.RunFailed, Error: r.Error}
	switch {
	case r.Err != nil:
		c.h.t.Fatal(r.Err)
	case r.Interrupted:
		o.State = controller.RunInterrupted
	case r.Status == runbundle.Completed:
		o = controller.ChildOutcome{State: controller.RunSucceeded, Output: r.FinalOutput}
	}
	c.Finish(o)
}

// settle runs passes and verifications until nothing is left to do.
func (h *house) settle() {
	h.t.Helper()
	for range 20 {
		h.Passes()
		c := h.start()
		if c == nil {
			return
		}
		c.end(c.engineRun().Wait())
	}
	h.t.Fatal("it does not come to an end")
}

// Several branches at once, each with an end of its own, by the real engine over
// the real store.
func TestStory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("good", "good", "1\n")
	h.push("better", "better", "1\n")
	h.push("failing", "broken", "1\n")
	h.push("moved", "moved", "1\n")
	h.push("clash", "story", "one\nTWO\nthree\n")
	h.push("main", "story", "one\n2\nthree\n")
	check := shell(`test ! -e broken || { echo "FAIL broken"; exit 1; }`)
	for _, b := range []string{"good", "better", "failing", "clash"} {
		h.Apply(b, h.spec(b, check))
	}
	h.Apply("moved", h.spec("moved", shell("git update-ref refs/heads/moved refs/heads/good")))
	h.settle()
	for b, want := range map[string]string{
		"good": "true Merged", "better": "true Merged", "failing": "false CheckFailed",
		"clash": "false Conflict", "moved": "false HeadChanged",
	} {
		h.want(b, ready+want)
		h.wantSettled(b)
	}
	for b, says := range map[string]string{"failing": "FAIL broken", "clash": "story", "moved": h.at("good")} {
		if message := h.message(b); !strings.Contains(message, says) {
			t.Errorf("%s says %q, want %q", b, message, says)
		}
	}
	if files := run(t, h.dir, "ls-tree", "--name-only", "main"); files != "better\ngood\nstory" {
		t.Errorf("main holds %q", files)
	}
	h.wantEffects("failing")
	h.wantEffects("clash")
	h.wantEffects("moved")
	// The failing branch is mended and asked for again.
	run(t, h.clone, "checkout", "--quiet", "failing")
	run(t, h.clone, "rm", "--quiet", "broken")
	h.push("failing", "mended", "1\n")
	h.Apply("failing", h.spec("failing", check))
	h.settle()
	h.want("failing", ready+"true Merged")
	h.wantSettled("failing")
}

// checking begins a verification of b in the engine, and returns once its check runs,
// which does not end by itself; running waits for the check of another attempt.
func (h *house) checking() (c *child, r *engine.Run, running func()) {
	h.t.Helper()
	v := &trial{forge: h.forge}
	running = v.hold()
	h.push("b", "file", "1\n")
	h.Apply("b", h.spec("b", v.in.Check))
	h.Passes()
	c = h.begin()
	r = c.engineRun()
	running()
	return c, r, running
}

// The worktree and the ref of a run that is cancelled are removed by its parent.
func TestStoryOfACancelledRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, r, _ := h.checking()
	if len(h.leftovers()) != 3 { // worktree, ref, folder
		t.Errorf("while it runs there is %q", h.leftovers())
	}
	r.Cancel()
	c.end(r.Wait())
	h.Passes()
	h.want("b", ready+"false VerificationFailed")
	h.wantSettled("b")
}

// A host stops in the middle of a check; the next one goes on.
func TestStoryOfAnInterruptedRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, r, running := h.checking()
	r.Interrupt("the host stops")
	c.end(r.Wait())
	h.Passes()
	h.Clock.Advance(controller.ChildBackoffBase)
	again := h.begin()
	if again.Row().Attempt != 2 || again.in.Owner != c.in.Owner {
		t.Errorf("attempt %+v", again.Row())
	}
	next := again.engineRun()
	running()
	next.Cancel()
	again.end(next.Wait())
	h.Passes()
	h.wantSettled("b")
}

// A repository in which somebody works is merged into as well, as long as the
// target is not checked out; what is checked out is left alone.
func TestStoryOfARepositoryInUse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.push("b", "file", "1\n")
	run(t, h.clone, "branch", "release", "main")
	s := h.spec("b", shell("test -f file"))
	s.Repository, s.Target = h.clone, "release"
	h.Apply("b", s)
	h.settle()
	h.want("b", ready+"true Merged")
	run(t, h.clone, "cat-file", "-e", "release:file")
	if status := run(t, h.clone, "status", "--porcelain", "--branch"); status != "## b" {
		t.Errorf("the worktree is at %q", status)
	}
	if trees := run(t, h.clone, "worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("worktrees:\n%s", trees)
	}
}
