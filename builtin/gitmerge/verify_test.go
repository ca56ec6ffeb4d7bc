package gitmerge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/internal/git"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// trial is one run of verify-branch by the engine.
type trial struct {
	*forge
	options Options
	in      VerifyInput
	runID   string
	// observe hears of the events of the run, if it is set.
	observe func(runbundle.Event, workflow.View)
}

// newTrial verifies branch b of a new forge, which adds the file "added" beside
// a file "here" that main got meanwhile.
func newTrial(t *testing.T, check ...string) *trial {
	t.Helper()
	f := newForge(t)
	f.push("b", "added", "1\n")
	f.push("main", "here", "1\n")
	return &trial{
		forge: f, options: Options{WorkRoot: f.root}, runID: "run-1",
		in: VerifyInput{
			Owner: testOwner, Repository: f.dir, Branch: "b", Target: "main", Head: f.at("b"), Onto: f.at("main"), Check: check,
		},
	}
}

func (v *trial) begin() *engine.Run {
	v.t.Helper()
	input, err := json.Marshal(v.in)
	if err != nil {
		v.t.Fatal(err)
	}
	e, g := v.engine()
	r, err := e.Start(v.t.Context(), g, engine.StartOptions{RunID: v.runID, Input: input, Observe: v.observe})
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

func (v *trial) engine() (*engine.Engine, *workflow.Graph) {
	v.t.Helper()
	g, err := workflow.Compile(VerifyBranch(v.options))
	if err != nil {
		v.t.Fatal(err)
	}
	return engine.New(engine.Options{RunsDir: filepath.Join(filepath.Dir(v.dir), "runs"), KillGrace: 50 * time.Millisecond}), g
}

// resume takes up a run that was parked.
func (v *trial) resume() *engine.Run {
	v.t.Helper()
	e, g := v.engine()
	r, err := e.Resume(v.t.Context(), g, engine.ResumeOptions{RunID: v.runID})
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

// ended is what became of a run.
type ended struct {
	engine.Result
	out VerifyOutput
	// trail are the nodes in the order in which they ended, without the two of
	// every turn and the return point; an outcome other than ok follows a colon.
	trail string
}

func (v *trial) wait(r *engine.Run) ended {
	v.t.Helper()
	e := ended{Result: r.Wait()}
	bundle, err := runbundle.Read(r.Dir())
	if err := errors.Join(err, e.Err); err != nil {
		v.t.Fatal(err)
	}
	var trail []string
	for _, s := range bundle.State.Steps {
		switch {
		case string(s.Outcome) != string(workflow.OK):
			trail = append(trail, s.NodeID+":"+string(s.Outcome))
		case s.NodeID != nodeObserve && s.NodeID != nodeDecide && s.NodeID != nodeReturn:
			trail = append(trail, s.NodeID)
		}
	}
	e.trail = strings.Join(trail, " ")
	if e.FinalOutput != nil {
		if err := json.Unmarshal(e.FinalOutput, &e.out); err != nil {
			v.t.Fatal(err)
		}
	}
	return e
}

func (v *trial) run() ended {
	v.t.Helper()
	return v.wait(v.begin())
}

// wantEnd wants a run that completed with that result and reason, by that trail.
func (e ended) wantEnd(t *testing.T, result, reason, trail string) {
	t.Helper()
	if e.Status != runbundle.Completed || e.out.Result != result || e.out.Reason != reason {
		t.Errorf("ended %s: %s %s %q %q; want %s %s", e.Status, e.out.Result, e.out.Reason, e.out.Message, e.Error, result, reason)
	}
	if e.trail != trail {
		t.Errorf("trail %s, want %s", e.trail, trail)
	}
}

func TestVerifyBranchIsAControlLoop(t *testing.T) {
	t.Parallel()
	g, err := workflow.Compile(VerifyBranch(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{
		routeMerge: nodeMerge, routePrepare: nodePrepare, routeCheck: nodeCheck, routeComplete: nodeComplete, routeBlocked: nodeBlocked,
	}
	if choices := loop.Choices(); len(choices) != len(routes) {
		t.Errorf("choices %q", choices)
	}
	for _, choice := range loop.Choices() {
		r := workflow.Result{NodeID: nodeDecide, Outcome: workflow.OK, Output: json.RawMessage(fmt.Sprintf(`{"route":%q}`, choice))}
		if next, _, err := g.Route(r); err != nil || next != routes[choice] {
			t.Errorf("route %s leads to %s, %v", choice, next, err)
		}
	}
	if _, _, err := g.Route(workflow.Result{NodeID: nodeDecide, Outcome: workflow.OK, Output: json.RawMessage(`{"route":"force"}`)}); err == nil {
		t.Error("an unknown route leads somewhere")
	}
	for _, branch := range []string{nodeMerge, nodePrepare, nodeCheck} {
		for _, outcome := range []workflow.Outcome{workflow.OK, workflow.Failed, workflow.TimedOut} {
			if next, _, err := g.Route(workflow.Result{NodeID: branch, Outcome: outcome}); err != nil || next != nodeReturn {
				t.Errorf("%s after %s leads to %s, %v", outcome, branch, next, err)
			}
		}
		if next, _, err := g.Route(workflow.Result{NodeID: branch, Outcome: workflow.Cancelled}); err == nil {
			t.Errorf("a cancelled %s leads to %s", branch, next)
		}
	}
	if next, _, err := g.Route(workflow.Result{NodeID: nodeReturn, Outcome: workflow.OK}); err != nil || next != nodeObserve {
		t.Errorf("the return point leads to %s, %v", next, err)
	}
	for _, end := range []string{nodeComplete, nodeBlocked} {
		if _, done, err := g.Route(workflow.Result{NodeID: end, Outcome: workflow.OK}); err != nil || !done {
			t.Errorf("%s is not the end: %v", end, err)
		}
	}
}

const straight = "merge prepare check complete"

func TestVerified(t *testing.T) {
	t.Parallel()
	v := newTrial(t, shell(`test -f added && test -f here && git rev-parse HEAD && pwd && ! env | grep ^GIT_ && echo fine >&2`)...)
	e := v.run()
	e.wantEnd(t, ResultVerified, ReasonCheckPassed, straight)
	tree := filepath.Join(v.root, testOwner, v.runID)
	if want := e.out.Candidate + "\n" + tree + "\nfine"; e.out.Output != want {
		t.Errorf("the check wrote %q, want %q", e.out.Output, want)
	}
	out := e.out
	if out.Head != v.in.Head || out.Onto != v.in.Onto || out.Tree != run(t, v.dir, "rev-parse", out.Candidate+"^{tree}") || out.Leftover != "" {
		t.Errorf("output %+v", out)
	}
	if parents := run(t, v.dir, "show", "--no-patch", "--format=%P %an %s", out.Candidate); parents != v.in.Onto+" "+v.in.Head+" Pi Workflows Merge branch 'b' into main" {
		t.Errorf("candidate is %s", parents)
	}
	if v.at("main") != v.in.Onto || v.at("b") != v.in.Head {
		t.Error("a branch was moved")
	}
	if diff := cmp.Diff([]string{candidateRef(testOwner)}, v.leftovers()); diff != "" {
		t.Error(diff)
	}
	v.runID = "run-2"
	if again := v.run(); again.out.Candidate != out.Candidate {
		t.Errorf("the same commits give %s and %s", out.Candidate, again.out.Candidate)
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		check   []string
		arrange func(v *trial)
		reason  string
		trail   string
		says    []string // in message, output and evidence together
	}{
		{
			"conflict", shell("true"), func(v *trial) {
				v.in.Head = v.push("b", "here", "2\n")
			}, ReasonConflict, "merge blocked", []string{"here"},
		},
		{
			"unrelated histories", shell("true"), func(v *trial) {
				v.in.Head = run(v.t, v.dir, "commit-tree", "-m", "alone", "main^{tree}")
				v.move("b", v.in.Head)
			}, ReasonUnrelated, "merge blocked", []string{"no common ancestor"},
		},
		{
			"check fails", shell("echo to stdout; echo to stderr >&2; exit 3"), nil,
			ReasonCheckFailed, "merge prepare check blocked", []string{"code 3", "to stdout\nto stderr"},
		},
		{
			"check is killed", shell("kill -9 $$"), nil,
			ReasonCheckFailed, "merge prepare check blocked", []string{"SIGKILL"},
		},
		{
			"check cannot start", []string{"no-such-program"}, nil,
			ReasonCheckFailed, "merge prepare check:failed blocked", []string{"could not be run", "no-such-program"},
		},
		{
			"check takes too long", shell("echo begun; exec sleep 600"), func(v *trial) { v.in.CheckTimeout = Duration(300 * time.Millisecond) },
			ReasonCheckTimedOut, "merge prepare check:timed_out blocked", []string{"longer than 300ms"},
		},
		{
			"head moved before", shell("true"), func(v *trial) { v.move("b", v.in.Onto) },
			ReasonHeadChanged, "blocked", []string{"not at"},
		},
		{
			"branch gone", shell("true"), func(v *trial) { run(v.t, v.dir, "branch", "-D", "b") },
			ReasonHeadChanged, "blocked", []string{"at no commit"},
		},
		{
			"check moves the head", shell("git update-ref refs/heads/b refs/heads/main"), nil,
			ReasonHeadChanged, "merge prepare check blocked", []string{"branch b is at"},
		},
		{
			"check moves the head and fails", shell("git update-ref refs/heads/b refs/heads/main; exit 1"), nil,
			ReasonHeadChanged, "merge prepare check blocked", nil,
		},
		{
			"check moves the target", shell("git update-ref refs/heads/main refs/heads/b"), nil,
			ReasonTargetChanged, "merge prepare check blocked", []string{"target main is at"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newTrial(t, test.check...)
			if test.arrange != nil {
				test.arrange(v)
			}
			e := v.run()
			e.wantEnd(t, ResultBlocked, test.reason, test.trail)
			text := strings.Join(append([]string{e.out.Message, e.out.Output}, e.out.Evidence...), "\n")
			for _, says := range test.says {
				if !strings.Contains(text, says) {
					t.Errorf("says %q, want %q", text, says)
				}
			}
			if len(e.out.Alternatives) == 0 {
				t.Error("no alternatives are named")
			}
			v.wantNothingLeft()
		})
	}
}

// gitThat is a Git that does something else for calls with these words, the
// first n times (0: always). rest sees the call in "$@".
func (v *trial) gitThat(words string, n int, rest string) {
	v.t.Helper()
	count := filepath.Join(v.t.TempDir(), "count")
	guard := "true"
	if n > 0 {
		guard = fmt.Sprintf(`echo x >> %s; [ $(wc -l < %s) -le %d ]`, count, count, n)
	}
	v.options.Git = script(v.t, fmt.Sprintf(`case "$*" in *%q*) if %s; then %s; fi;; esac; exec git "$@"`, words, guard, rest))
}

func TestNoProgress(t *testing.T) {
	t.Parallel()
	twice := func(branch string) string { return branch + ":failed " + branch + ":failed blocked" }
	tests := []struct {
		name    string
		arrange func(v *trial)
		trail   string
		says    string
	}{
		{"merge fails", func(v *trial) { v.gitThat("merge-tree", 0, "echo 'disk is full' >&2; exit 128") },
			twice("merge"), "disk is full"},
		{"worktree fails", func(v *trial) { v.gitThat("worktree add", 0, "echo 'disk is full' >&2; exit 128") },
			"merge " + twice("prepare"), "disk is full"},
		{"git hangs", func(v *trial) {
			v.gitThat("commit-tree", 0, "exec sleep 600")
			v.options.GitTimeout = 2 * time.Second
		}, twice("merge"), "longer than 2s"},
		{"work root within the repository", func(v *trial) { v.options.WorkRoot = filepath.Join(v.dir, "work") },
			"merge " + twice("prepare"), "within the repository"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newTrial(t, shell("true")...)
			test.arrange(v)
			e := v.run()
			e.wantEnd(t, ResultBlocked, ReasonNoProgress, test.trail)
			if text := strings.Join(e.out.Evidence, "\n"); !strings.Contains(text, test.says) {
				t.Errorf("evidence %q, want %q", text, test.says)
			}
			v.wantNothingLeft()
		})
	}
}

// One failure of a branch is no end: it is tried once more.
func TestBranchesAreTriedOnceMore(t *testing.T) {
	t.Parallel()
	for words, trail := range map[string]string{
		"merge-tree":   "merge:failed merge prepare check complete",
		"worktree add": "merge prepare:failed prepare check complete",
	} {
		v := newTrial(t, shell("true")...)
		v.gitThat(words, 1, "exit 128")
		v.run().wantEnd(t, ResultVerified, ReasonCheckPassed, trail)
	}
}

// oneWorktree is a check that passes where there is exactly one worktree, and
// that is clean, beside the bare repository.
var oneWorktree = shell(`test $(git worktree list | wc -l) = 2 && test -z "$(git status --porcelain --ignored)"`)

// A worktree that may or may not be there is found, and adopted or removed; it
// is never made twice.
func TestUncertainWorktree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		arrange func(v *trial)
		trail   string
	}{
		{"made, and the answer lost", func(v *trial) { v.gitThat("reset --hard", 1, `git "$@"; exit 1`) },
			"merge prepare:failed check complete"},
		{"made in part", func(v *trial) { v.gitThat("reset --hard", 1, "exit 1") },
			"merge prepare:failed prepare check complete"},
		{"entry made, and the answer lost", func(v *trial) { v.gitThat("worktree add", 1, `git "$@"; exit 1`) },
			"merge prepare:failed prepare check complete"},
		{"found ready", func(v *trial) { v.leave(v.runID, "") }, "merge check complete"},
		{"found used", func(v *trial) { v.leave(v.runID, "trash") }, straight},
		{"found at another commit", func(v *trial) { v.leaveAt(v.runID, v.in.Head) }, straight},
		{"found without its folder", func(v *trial) {
			v.leave(v.runID, "")
			if err := os.RemoveAll(filepath.Join(v.root, testOwner, v.runID)); err != nil {
				v.t.Fatal(err)
			}
		}, straight},
		{"found without its .git file", func(v *trial) {
			v.leave(v.runID, "")
			if err := os.Remove(filepath.Join(v.root, testOwner, v.runID, ".git")); err != nil {
				v.t.Fatal(err)
			}
		}, straight},
		{"folder without an entry", func(v *trial) {
			if err := os.MkdirAll(filepath.Join(v.root, testOwner, v.runID, "sub"), 0o700); err != nil {
				v.t.Fatal(err)
			}
		}, straight},
		{"left by earlier attempts", func(v *trial) { v.leave("run-0", "trash"); v.leave("run-00", "") }, straight},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newTrial(t, oneWorktree...)
			if err := os.MkdirAll(v.root, 0o700); err != nil {
				t.Fatal(err)
			}
			test.arrange(v)
			e := v.run()
			e.wantEnd(t, ResultVerified, ReasonCheckPassed, test.trail)
			if diff := cmp.Diff([]string{candidateRef(testOwner)}, v.leftovers()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// leave makes the worktree of a run as an earlier life of it would, at the
// candidate; trash, if any, is a file in it.
func (v *trial) leave(runID, trash string) {
	v.t.Helper()
	in, err := json.Marshal(v.in)
	if err != nil {
		v.t.Fatal(err)
	}
	out, err := verifier{workspaceOf(v.options)}.merge(v.t.Context(), &workflow.Context{RunID: runID, Input: in})
	if err != nil {
		v.t.Fatal(err)
	}
	v.leaveAt(runID, out.(mergeResult).Candidate)
	if trash != "" {
		if err := os.WriteFile(filepath.Join(v.root, testOwner, runID, trash), nil, 0o600); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *trial) leaveAt(runID, commit string) {
	v.t.Helper()
	if err := workspaceOf(v.options).add(v.t.Context(), v.repo, testOwner, runID, git.Hash(commit)); err != nil {
		v.t.Fatal(err)
	}
}

// hold makes the check tell when it runs and then wait; running blocks until it
// does.
func (v *trial) hold() (running func()) {
	v.t.Helper()
	fifo := filepath.Join(v.t.TempDir(), "fifo")
	if err := makeFifo(fifo); err != nil {
		v.t.Fatal(err)
	}
	v.in.Check = shell("echo runs > " + fifo + "; exec sleep 600")
	return func() {
		v.t.Helper()
		if text, err := os.ReadFile(fifo); err != nil || string(text) != "runs\n" {
			v.t.Fatalf("%q, %v", text, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	v := newTrial(t)
	running := v.hold()
	r := v.begin()
	running()
	r.Cancel()
	e := v.wait(r)
	if e.Status != runbundle.Cancelled || e.trail != "merge prepare check:cancelled" || e.FinalOutput != nil {
		t.Errorf("ended %s by %s", e.Status, e.trail)
	}
	if left := v.leftovers(); len(left) > 0 {
		t.Errorf("a cancelled run leaves %q", left)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	v := newTrial(t)
	running := v.hold()
	r := v.begin()
	running()
	r.Interrupt("the host stops")
	if e := v.wait(r); !e.Interrupted || e.Status != runbundle.Failed || e.trail != "merge prepare" {
		t.Errorf("ended %s (interrupted %v) by %s", e.Status, e.Interrupted, e.trail)
	}
	v.in.Check, v.runID = oneWorktree, "run-2"
	v.run().wantEnd(t, ResultVerified, ReasonCheckPassed, straight)
}

// A run that is paused goes on where it was held.
func TestPaused(t *testing.T) {
	t.Parallel()
	v := newTrial(t, shell("true")...)
	begun, paused := make(chan *engine.Run, 1), make(chan struct{})
	v.observe = func(e runbundle.Event, _ workflow.View) {
		switch {
		case e.Type == runbundle.EventNodeFinished && e.NodeID == nodePrepare:
			r := <-begun
			r.Pause()
		case e.Type == runbundle.EventRunPaused:
			close(paused)
		}
	}
	r := v.begin()
	begun <- r
	<-paused
	r.Resume()
	v.wait(r).wantEnd(t, ResultVerified, ReasonCheckPassed, straight)
}

// A run that is parked in its check, or whose host died there, goes on with
// another check in the worktree that it finds.
func TestParkedInItsCheck(t *testing.T) {
	t.Parallel()
	v := newTrial(t)
	running := v.hold()
	free := filepath.Join(t.TempDir(), "free")
	v.in.Check = shell("test -e " + free + " && exit 0; " + v.in.Check[len(v.in.Check)-1])
	r := v.begin()
	running()
	r.Park()
	if result := r.Wait(); !result.Parked || result.Err != nil {
		t.Fatalf("the run is %+v", result)
	}
	if err := os.WriteFile(free, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v.wait(v.resume()).wantEnd(t, ResultVerified, ReasonCheckPassed, straight)
	if diff := cmp.Diff([]string{candidateRef(testOwner)}, v.leftovers()); diff != "" {
		t.Error(diff)
	}
}

// A result is not lost because its worktree cannot be removed.
func TestLeftover(t *testing.T) {
	t.Parallel()
	v := newTrial(t, shell("true")...)
	v.gitThat("worktree remove", 0, "echo busy >&2; exit 1")
	e := v.run()
	e.wantEnd(t, ResultVerified, ReasonCheckPassed, straight)
	if !strings.Contains(e.out.Leftover, "busy") {
		t.Errorf("leftover %q", e.out.Leftover)
	}
	if err := (workspace{root: v.root}).sweep(t.Context(), v.repo, testOwner); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{candidateRef(testOwner)}, v.leftovers()); diff != "" {
		t.Error(diff)
	}
}

// A repository that goes away during a run fails the run: nothing was proved.
func TestRepositoryGoesAway(t *testing.T) {
	t.Parallel()
	v := newTrial(t)
	v.in.Check = shell(`mv "` + v.dir + `" "` + v.dir + `-away"`)
	if e := v.run(); e.Status != runbundle.Failed || !strings.Contains(e.Error, "no Git repository") {
		t.Errorf("ended %s %q", e.Status, e.Error)
	}
}

func TestVerifyInput(t *testing.T) {
	t.Parallel()
	v := newTrial(t, "true")
	tests := []struct {
		name   string
		change func(in *VerifyInput)
		want   []string
	}{
		{"valid", func(*VerifyInput) {}, nil},
		{"owner", func(in *VerifyInput) { in.Owner = "../x" }, []string{"/owner"}},
		{"all at once", func(in *VerifyInput) {
			in.Owner, in.Head, in.Onto, in.Check, in.Branch, in.Repository = "", "x", "", nil, "a..b", "r"
		}, []string{"/branch", "/check", "/head", "/onto", "/owner", "/repository"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := v.in
			test.change(&in)
			raw, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			normal, err := normalizeInput(t.Context(), raw)
			var pointers []string
			if refused := (*controller.SpecError)(nil); errors.As(err, &refused) {
				for _, p := range refused.Problems {
					pointers = append(pointers, p.Pointer)
				}
				if strings.Contains(refused.Error(), "controller") {
					t.Errorf("it is no controller that refuses: %v", refused)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			slices.Sort(pointers)
			if diff := cmp.Diff(test.want, pointers); diff != "" {
				t.Error(diff)
			}
			if test.want == nil && !strings.Contains(string(normal), `"checkTimeout":"10m0s"`) {
				t.Errorf("normalised to %s", normal)
			}
		})
	}
	if _, err := normalizeInput(t.Context(), json.RawMessage(`{"owner":"x","extra":1}`)); err == nil || !strings.Contains(err.Error(), "/extra") {
		t.Errorf("unknown field: %v", err)
	}
	if got, err := title(t.Context(), json.RawMessage(`{"branch":"b","target":"main"}`)); err != nil || got != "Verify b for main" {
		t.Errorf("%q, %v", got, err)
	}
}
