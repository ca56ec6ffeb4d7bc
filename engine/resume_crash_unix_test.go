//go:build !windows

package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// journeyEnv makes the test binary a process that runs the journey below the
// named folder, and kills itself after the event of crashAtEnv, or stands still
// there if that is negative.
const journeyEnv = "ENGINE_TEST_JOURNEY"

// journey goes through every kind of node. What it does to the world outside is a
// line in a file beside its runs.
type journey struct{ root string }

func (j journey) runs() string { return filepath.Join(j.root, "runs") }

func (j journey) file() string { return filepath.Join(j.root, "acts") }

func (j journey) act(what string) error {
	f, err := os.OpenFile(j.file(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, what)
	return errors.Join(err, f.Close())
}

// acts counts what was done outside.
func (j journey) acts(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(j.file())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.FieldsSeq(string(text)) {
		counts[line]++
	}
	return counts
}

// Execute is the agent of the journey.
func (j journey) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	return nil, errors.Join(j.act(r.Contract.NodeID), r.Accept(ctx, raw(`{"route":"fix"}`)))
}

// Notify takes its messages.
func (j journey) Notify(_ context.Context, n engine.Notification) (engine.NotificationReceipt, error) {
	return engine.NotificationReceipt{NotificationID: n.ID()}, j.act(n.NodeID)
}

func (j journey) engine() *engine.Engine {
	return engine.New(engine.Options{RunsDir: j.runs(), Agents: j, Notifier: j})
}

func (j journey) graph() (*workflow.Graph, error) {
	d := flow(
		compute("look", gives(strings.Repeat("long ", 2000), nil)),
		asks(nil),
		workflow.Action{ID: "fix", Run: func(context.Context, *workflow.Context) (any, error) {
			return nil, errors.Join(j.act("fix"), errors.New("not today"))
		}},
		workflow.Shell{ID: "shell", Exec: func(context.Context, *workflow.Context) (workflow.Command, error) {
			return workflow.Command{Command: "echo shell >>acts", Shell: "sh", Dir: j.root}, nil
		}, Parse: func(_ context.Context, _ *workflow.Context, r workflow.CommandResult) (any, error) {
			return r.ExitCode, nil
		}},
		says("tell", "", "could not fix it"),
		workflow.Checkpoint{ID: "wait"},
	)
	d.Edges[2] = workflow.Edge{From: "fix", Switch: routes("$result.outcome", "failed>shell", "ok>shell")}
	return workflow.Compile(d)
}

// Where there is no sh there is no such helper either.
var _ = func() bool {
	helpers[journeyEnv] = journeyHelper
	return true
}()

func journeyHelper(root string) {
	j := journey{root}
	g, err := j.graph()
	if err != nil {
		panic(err)
	}
	run, err := j.engine().Start(context.Background(), g, engine.StartOptions{RunID: runID, Observe: dieAtEvent()})
	if err != nil {
		panic(err)
	}
	run.Wait()
}

// whole is a journey that nothing disturbed.
func whole(t *testing.T) *runbundle.Bundle {
	t.Helper()
	j := journey{t.TempDir()}
	g, err := j.graph()
	if err != nil {
		t.Fatal(err)
	}
	run, err := j.engine().Start(t.Context(), g, engine.StartOptions{RunID: runID})
	if err != nil {
		t.Fatal(err)
	}
	run.Wait()
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCrashAndResumeAfterEveryEvent kills the process of a run after each event
// and resumes it: it ends as if nothing had happened, no step is recorded twice or
// lost, and nothing is done again that was recorded as ended.
func TestCrashAndResumeAfterEveryEvent(t *testing.T) {
	t.Parallel()
	want := whole(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(want.Events); n++ {
		t.Run(fmt.Sprintf("after event %d of %d", n, len(want.Events)), func(t *testing.T) {
			t.Parallel()
			j := journey{t.TempDir()}
			child := exec.CommandContext(t.Context(), self)
			child.Env = append(os.Environ(), journeyEnv+"="+j.root, fmt.Sprint(crashAtEnv, "=", n))
			if out, err := child.CombinedOutput(); err == nil {
				t.Fatalf("the helper was not killed: %s", out)
			}
			left, err := runbundle.Read(filepath.Join(j.runs(), runID))
			if err != nil || len(left.Events) != n {
				t.Fatalf("%d events are left, %v", len(left.Events), err)
			}
			if n == len(want.Events) {
				j.mustStayAsItIs(t, left)
				return
			}
			j.mustGoOn(t, left, want)
		})
	}
}

// TestTwoProcessesNeverOwnOneRun asks for a run that another process has: it is
// refused and left alone until that process is dead.
func TestTwoProcessesNeverOwnOneRun(t *testing.T) {
	t.Parallel()
	const standsAt = 5
	j := journey{t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), journeyEnv+"="+j.root, fmt.Sprint(crashAtEnv, "=", -standsAt))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for events := bufio.NewScanner(out); events.Scan(); {
		if left, err := runbundle.Read(filepath.Join(j.runs(), runID)); err == nil && len(left.Events) == standsAt {
			break
		}
	}
	g, err := j.graph()
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, j.root)
	if _, err := j.engine().Resume(t.Context(), g, engine.ResumeOptions{RunID: runID}); !errors.Is(err, oslock.ErrHeld) {
		t.Errorf("a run that another process has: %v", err)
	}
	if diff := cmp.Diff(before, contents(t, j.root)); diff != "" {
		t.Errorf("it was not left alone:\n%s", diff)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // says that it was killed
	left, err := runbundle.Read(filepath.Join(j.runs(), runID))
	if err != nil {
		t.Fatal(err)
	}
	j.mustGoOn(t, left, whole(t))
}

// mustStayAsItIs resumes a run that has ended.
func (j journey) mustStayAsItIs(t *testing.T, left *runbundle.Bundle) {
	t.Helper()
	before := contents(t, left.Dir)
	g, err := j.graph()
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.engine().Resume(t.Context(), g, engine.ResumeOptions{RunID: runID})
	if !errors.Is(err, runbundle.ErrEnded) {
		t.Errorf("resume of a run that ended: %v", err)
	}
	if diff := cmp.Diff(before["trace.ndjson"], contents(t, left.Dir)["trace.ndjson"]); diff != "" {
		t.Errorf("a terminal bundle changed:\n%s", diff)
	}
}

// mustGoOn resumes a run and compares its end with that of one that nothing
// disturbed.
func (j journey) mustGoOn(t *testing.T, left, want *runbundle.Bundle) {
	t.Helper()
	g, err := j.graph()
	if err != nil {
		t.Fatal(err)
	}
	run, err := j.engine().Resume(t.Context(), g, engine.ResumeOptions{RunID: runID})
	if err != nil {
		t.Fatal(err)
	}
	run.Wait()
	got, err := runbundle.Read(left.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(essence(want), essence(got)); diff != "" {
		t.Errorf("it ended another way (-want +got):\n%s", diff)
	}
	for i, step := range left.State.Steps {
		if got.State.Steps[i].AttemptID != step.AttemptID {
			t.Errorf("step %d was recorded again", i)
		}
	}
	for what, count := range j.acts(t) {
		ended := slices.ContainsFunc(left.State.Steps, func(s runbundle.Step) bool { return s.NodeID == what })
		if count != 1 && (ended || count > 2) {
			t.Errorf("%s was done %d times, although its end was recorded: %v", what, count, ended)
		}
	}
}

// essence is what must be the same however often a run was interrupted.
func essence(b *runbundle.Bundle) (lines []string) {
	s := b.State
	for _, step := range s.Steps {
		lines = append(lines, strings.Join([]string{step.NodeID, string(step.Outcome), step.Error, string(step.Output)}, " "))
	}
	for _, node := range []string{"look", "ask", "fix", "shell", "tell", "wait"} {
		lines = append(lines, node+" "+string(s.Outputs[node])+" "+string(s.Results[node].Output))
	}
	return append(lines, string(s.Status), s.WaitingOn, string(s.FinalOutput), s.Error)
}
