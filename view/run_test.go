package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"piworkflows/internal/golden"
	"piworkflows/runbundle"
)

const runID = "20270105T081500Z-verify-branch-0a1b2c3d"

var began = time.Date(2027, 1, 5, 8, 15, 0, 0, time.UTC)

// story writes a run of the loop into a real bundle and reads it back.
type story struct {
	t    *testing.T
	w    *runbundle.Writer
	now  time.Time
	next int
}

func newStory(t *testing.T) *story { return newStoryOf(t, "loop.json") }

// newStoryOf starts a run of one of the graphs in testdata.
func newStoryOf(t *testing.T, graph string) *story {
	t.Helper()
	snapshot, err := os.ReadFile(filepath.Join("testdata", graph))
	if err != nil {
		t.Fatal(err)
	}
	init := runbundle.Init{
		RunID: runID, WorkflowName: "verify-branch", Snapshot: snapshot, StartedAt: began,
		Input: json.RawMessage(`{"branch":"feature/good"}`),
	}
	w, err := runbundle.Create(t.Context(), runbundle.Options{}, filepath.Join(t.TempDir(), "runs"), init)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &story{t: t, w: w, now: began}
	s.append(init.Started())
	return s
}

func (s *story) append(d runbundle.Draft) {
	s.t.Helper()
	if d.At.IsZero() {
		d.At = s.now
	}
	if _, err := s.w.Append(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
}

// enter starts an attempt; leave ends it after a time.
func (s *story) enter(node, kind string) {
	s.next++
	s.append(runbundle.Draft{NodeID: node, AttemptID: s.attempt(), Payload: runbundle.NodeStarted{NodeType: kind}})
}

func (s *story) leave(node string, after time.Duration, end runbundle.NodeEnded) {
	s.now = s.now.Add(after)
	end.DurationMs = after.Milliseconds()
	s.append(runbundle.Draft{NodeID: node, AttemptID: s.attempt(), Payload: end})
}

func (s *story) attempt() string { return fmt.Sprintf("0f6c1d2e-0000-4000-8000-%012d", s.next) }

func (s *story) step(node, kind string, after time.Duration, output string) {
	s.enter(node, kind)
	s.leave(node, after, runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(output)})
}

func (s *story) fail(node string, after time.Duration, outcome runbundle.Outcome, message string, r *runbundle.Receipt) {
	s.enter(node, "action")
	s.leave(node, after, runbundle.NodeEnded{Outcome: outcome, Error: message, Action: r})
}

func (s *story) read() *runbundle.Bundle {
	s.t.Helper()
	b, err := runbundle.Read(s.w.Dir())
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// theStory goes through the loop: a check fails, is mended, and at last all is
// well.
func theStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.step("observe", "compute", 3*time.Millisecond, `{"head":"0123456789abcdef0123456789abcdef01234567","worktree":"missing"}`)
	s.step("decide", "compute", time.Millisecond, `{"route":"prepare","reason":"there is no worktree"}`)
	s.step("prepareWorktree", "action", 412*time.Millisecond, `{"path":"/tmp/worktree"}`)
	s.step("observe", "compute", 3*time.Millisecond, `{"head":"0123456789abcdef0123456789abcdef01234567","worktree":"there"}`)
	s.step("decide", "compute", time.Millisecond, `{"route":"check","reason":"the candidate is not checked"}`)
	exit := 1
	s.fail("runCheck", 73*time.Second, "failed", "the check failed: \x1b[31mFAIL\x1b[0m story.txt\nexit status 1",
		&runbundle.Receipt{ActionType: runbundle.ActionShell, CommandReceipt: &runbundle.CommandReceipt{
			Command: "sh", Args: []string{"check.sh"}, Dir: "/tmp/worktree", ExitCode: &exit, DurationMs: 73_000,
		}})
	s.step("triage", "compute", 2*time.Millisecond, `null`)
	return s
}

func draw(t *testing.T, b *runbundle.Bundle, o RunOptions) string {
	t.Helper()
	o.Now = began.Add(2 * time.Minute)
	text, err := Run(b, o)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if w := Width(strings.TrimRight(line, "\n")); w > o.width() {
			t.Errorf("line of %d cells: %q", w, line)
		}
	}
	return text
}

func TestRunThatGoesOn(t *testing.T) {
	t.Parallel()
	s := theStory(t)
	s.enter("repair", "agent")
	golden.Check(t, "run-running.txt", draw(t, s.read(), RunOptions{}))
}

func TestRunThatEnded(t *testing.T) {
	t.Parallel()
	s := theStory(t)
	s.step("repair", "agent", time.Second, `{"changed":true}`)
	s.step("observe", "compute", 0, `{}`)
	s.step("decide", "compute", 0, `{"route":"complete","reason":"checked and current"}`)
	s.step("prepareCompleted", "compute", 0, `{}`)
	s.step("finish", "notify", 0, `{}`)
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Completed, FinalOutput: json.RawMessage(`{"merged":true}`)}})
	b := s.read()
	golden.Check(t, "run-completed.txt", draw(t, b, RunOptions{}))
	golden.Check(t, "run-step-6.txt", draw(t, b, RunOptions{Step: 6}))
	golden.Check(t, "run-step-10.txt", draw(t, b, RunOptions{Step: 10, DrawOptions: DrawOptions{Style: Style{Width: 60}}}))

	coloured := draw(t, b, RunOptions{DrawOptions: DrawOptions{Style: Style{Palette: Colors()}}})
	if ansi.Strip(coloured) != draw(t, b, RunOptions{}) {
		t.Error("the coloured drawing is not the plain one with colours")
	}
}

func TestRunThatFailed(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fail("observe", time.Second, "timed_out", "no answer\x07 within 1s", nil)
	s.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.TimedOut, Error: "observe timed out"}})
	golden.Check(t, "run-timed-out.txt", draw(t, s.read(), RunOptions{}))
}

func TestRunThatWasInterruptedBeforeItsFirstStep(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.append(runbundle.Draft{Payload: runbundle.RunInterrupted{Error: "the host stopped"}})
	golden.Check(t, "run-interrupted.txt", draw(t, s.read(), RunOptions{}))
}

func TestRunRefusesAStepThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := theStory(t).read()
	for _, step := range []int{-1, 8} {
		_, err := Run(b, RunOptions{Step: step})
		if missing, ok := errors.AsType[*StepError](err); !ok || missing.Steps != 7 {
			t.Errorf("step %d: error = %v", step, err)
		}
	}
}

// Several cases may lead to one node; the recorded value tells which was taken.
func TestTheTakenCaseIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ on, output, outcome, want string }{
		{"$.route", `{"route":"b"}`, "ok", "b"},
		{"$output.a.b", `{"a":{"b":"c"}}`, "ok", "c"},
		{"$.n", `{"n":2}`, "ok", "2"},
		{"$.yes", `{"yes":true}`, "ok", "true"},
		{"$result.outcome", `null`, "failed", "failed"},
		{"$result.output.x", `{"x":"c"}`, "ok", "c"},
		{"$.gone", `{}`, "ok", "a"},
	} {
		g := &Graph{Name: "g", StartAt: "from", Nodes: []Node{{ID: "from"}, {ID: "to"}}}
		for _, label := range []string{"a", "b", "c", "2", "true", "failed"} {
			g.Edges = append(g.Edges, Edge{"from", "to", label, c.on})
		}
		e := newWiring(g).edgeTaken(0, "to", runbundle.Step{Output: json.RawMessage(c.output), Outcome: runbundle.Outcome(c.outcome)})
		if got := g.Edges[e].Label; got != c.want {
			t.Errorf("%s of %s: case %q, want %q", c.on, c.output, got, c.want)
		}
	}
}
