package live

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/runbundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const runID = "20270105T081500Z-verify-branch-0a1b2c3d"

// record is a run that is being written into a real bundle.
type record struct {
	t     *testing.T
	w     *runbundle.Writer
	clock *clocktest.Manual
	n     int
}

func newRecord(t *testing.T, graph string) *record {
	t.Helper()
	snapshot, err := os.ReadFile(filepath.Join("..", "testdata", graph))
	if err != nil {
		t.Fatal(err)
	}
	c := clocktest.New()
	init := runbundle.Init{
		RunID: runID, WorkflowName: "verify-branch", Title: "Verify feature/good", Snapshot: snapshot, StartedAt: c.Now(),
		Input: json.RawMessage(`null`),
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
	r := &record{t: t, w: w, clock: c}
	r.append(init.Started())
	return r
}

func (r *record) append(d runbundle.Draft) {
	r.t.Helper()
	d.At = r.clock.Now()
	if _, err := r.w.Append(r.t.Context(), d); err != nil {
		r.t.Fatal(err)
	}
}

func (r *record) enter(node, kind string) {
	r.n++
	r.in(node, runbundle.NodeStarted{NodeType: kind})
}

// in records what happened in the attempt that was entered last.
func (r *record) in(node string, p runbundle.Payload) {
	r.t.Helper()
	r.append(runbundle.Draft{NodeID: node, AttemptID: fmt.Sprintf("attempt-%d", r.n), Payload: p})
}

func (r *record) leave(node string, after time.Duration, end runbundle.NodeEnded) {
	r.clock.Advance(after)
	end.DurationMs = after.Milliseconds()
	r.in(node, end)
}

func (r *record) step(node, kind string, after time.Duration, output string) {
	r.enter(node, kind)
	r.leave(node, after, runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: json.RawMessage(output)})
}

func (r *record) read() *runbundle.Bundle {
	r.t.Helper()
	b, err := runbundle.Read(r.w.Dir())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// loop goes through the control loop until an agent is at work.
func loop(t *testing.T) *record {
	t.Helper()
	r := newRecord(t, "loop.json")
	r.step("observe", "compute", 3*time.Millisecond, `{"worktree":"missing"}`)
	r.step("decide", "compute", time.Millisecond, `{"route":"prepare","reason":"there is no worktree"}`)
	r.step("prepareWorktree", "action", 412*time.Millisecond, `{"path":"/tmp/worktree"}`)
	r.step("observe", "compute", 3*time.Millisecond, `{"worktree":"there"}`)
	r.step("decide", "compute", time.Millisecond, `{"route":"check","reason":"the candidate is not checked"}`)
	exit := 1
	r.enter("runCheck", "action")
	r.leave("runCheck", 73*time.Second, runbundle.NodeEnded{
		Outcome: "failed", Error: "the check failed: \x1b[31mFAIL\x1b[0m\x07 story.txt\nexit status 1",
		Action: &runbundle.Receipt{ActionType: runbundle.ActionShell, CommandReceipt: &runbundle.CommandReceipt{
			Command: "sh", Args: []string{"check.sh"}, Dir: "/tmp/worktree", ExitCode: &exit, DurationMs: 73_000,
		}},
	})
	r.step("triage", "compute", 2*time.Millisecond, `null`)
	r.enter("repair", "agent")
	r.in("repair", runbundle.PromptSent{Prompt: "Repair the story.\nIts last line is too long."})
	return r
}

// ended is the whole of the loop.
func ended(t *testing.T) *record {
	t.Helper()
	r := loop(t)
	r.leave("repair", 12*time.Second, runbundle.NodeEnded{
		Outcome: runbundle.OutcomeOK, Output: json.RawMessage(`{"changed":true,"files":["story.txt"],"note":"` + strings.Repeat("word ", 60) + `"}`),
	})
	r.step("observe", "compute", 0, `{}`)
	r.step("decide", "compute", 0, `{"route":"complete","reason":"checked and current"}`)
	r.step("prepareCompleted", "compute", 0, `{}`)
	r.step("finish", "notify", 0, `{}`)
	r.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Completed, FinalOutput: json.RawMessage(`{"merged":true}`)}})
	return r
}

// nested is a run that is at work in an included workflow.
func nested(t *testing.T) *record {
	t.Helper()
	r := newRecord(t, "nested.json")
	r.step("observe", "compute", time.Millisecond, `{}`)
	r.step("decide", "agent", time.Second, `{"route":"verify","reason":"it is implemented"}`)
	r.step("verification", "compute", 0, `{"invocation":1,"input":null}`)
	r.step("verification/plan", "agent", time.Second, `{}`)
	r.step("verification/check", "compute", 0, `{"invocation":1,"input":null}`)
	r.enter("verification/check/runTests", "action")
	return r
}
