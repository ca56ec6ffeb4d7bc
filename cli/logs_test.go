package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// asked is a clock that tells when somebody waits until he looks whether a run
// goes on.
type asked struct {
	*clocktest.Manual

	waits chan struct{}
}

func (c *asked) NewTimer(d time.Duration) clock.Timer {
	timer := c.Manual.NewTimer(d)
	if d == aliveness {
		c.waits <- struct{}{}
	}
	return timer
}

// printed is a run in this process that prints, and a store that knows it.
type printed struct {
	t     *testing.T
	paths host.Paths
	store *sqlite.Store
	clock *asked
	claim *runqueue.Claim
	w     *runbundle.Writer
	spool *spool.Spool
}

func newPrinted(t *testing.T) *printed {
	t.Helper()
	p := &printed{t: t, clock: &asked{clocktest.New(), make(chan struct{}, 9)}}
	dir := t.TempDir()
	p.paths = host.Paths{
		Project: dir, Store: filepath.Join(dir, "store.sqlite"), Runs: filepath.Join(dir, "runs"), Spool: filepath.Join(dir, "spool"),
	}
	store, err := host.OpenStore(t.Context(), p.paths, p.clock, slog.New(slog.DiscardHandler))
	p.must(err)
	p.store = store
	p.claim, err = store.Launch(t.Context(), runqueue.NewRun{
		RunID: someRun, Workflow: "build", Source: json.RawMessage(`{}`), Digest: "d", Input: json.RawMessage(`null`),
	}, lease.DefaultDuration)
	p.must(err)
	init := runbundle.Init{RunID: someRun, WorkflowName: "build", StartedAt: p.clock.Now(), Snapshot: json.RawMessage(
		`{"schema":"pi-workflows.definition-snapshot.v1","name":"build","startAt":"a","nodes":{"a":{"nodeType":"action"},"b":{"nodeType":"agent"}},` +
			`"edges":[{"from":"a","to":"b"}],"composition":{"mounts":[]}}`)}
	p.w, err = runbundle.Create(t.Context(), runbundle.Options{Clock: p.clock}, p.paths.Runs, init)
	p.must(err)
	p.append(init.Started())
	p.spool = spool.New(spool.Options{Dir: p.paths.Spool, RunID: someRun, Clock: p.clock})
	t.Cleanup(func() {
		p.spool.Remove()
		p.must(errors.Join(p.w.Close(), store.Close()))
	})
	return p
}

func (p *printed) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *printed) append(d runbundle.Draft) {
	p.t.Helper()
	if d.At.IsZero() {
		d.At = p.clock.Now()
	}
	_, err := p.w.Append(p.t.Context(), d)
	p.must(err)
}

// prints is an attempt that prints one text.
func (p *printed) prints(node, attempt, stream, text string) {
	p.t.Helper()
	p.append(runbundle.Draft{NodeID: node, AttemptID: attempt, Payload: runbundle.NodeStarted{NodeType: "action"}})
	file := p.spool.Attempt(node, attempt)
	file.Write(stream, []byte(text))
	file.Close()
}

func (p *printed) ends(node, attempt string, end runbundle.NodeEnded) {
	p.t.Helper()
	p.append(runbundle.Draft{NodeID: node, AttemptID: attempt, Payload: end})
}

func (p *printed) logs(ctx context.Context, f logsFlags, flags ...string) (stdout, stderr string, err error) {
	p.t.Helper()
	a, out, errs := screen(flags...)
	a.o.Clock = p.clock
	err = a.showLogs(ctx, p.paths, p.store, someRun, f)
	return out.String(), errs.String(), err
}

// shellResult is the recorded output of a command that nobody parsed.
const shellResult = `{"command":"sh","args":[],"cwd":"/","stdout":"out\n","stderr":"err","exitCode":0,"signal":null,"durationMs":1}`

var shellReceipt = &runbundle.Receipt{ActionType: runbundle.ActionShell, CommandReceipt: &runbundle.CommandReceipt{Command: "sh"}}

// The order is that of the steps, wherever their output is.
func TestLogsOfSpoolAndRecord(t *testing.T) {
	t.Parallel()
	p := newPrinted(t)
	p.append(runbundle.Draft{NodeID: "a", AttemptID: "1", Payload: runbundle.NodeStarted{NodeType: "action"}})
	p.ends("a", "1", runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(shellResult), Action: shellReceipt})
	p.append(runbundle.Draft{NodeID: "b", AttemptID: "2", Payload: runbundle.NodeStarted{NodeType: "agent"}})
	p.ends("b", "2", runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(`7`)})
	p.prints("a", "3", spool.Stdout, "spooled")
	p.ends("a", "3", runbundle.NodeEnded{Outcome: "failed", Error: "exit 1", Action: shellReceipt})
	p.prints("b", "4", spool.Agent, "thinking\n")
	out, errs, err := p.logs(t.Context(), logsFlags{})
	want := "a | out\na ! err\na | spooled\nb | thinking\n"
	if out != want || err != nil {
		t.Errorf("%v\n%s", err, cmp.Diff(want, out))
	}
	if want := "run " + someRun + " is running: go on with --follow; what 1 step printed was not kept\n"; errs != want {
		t.Errorf("%s, want %s", errs, want)
	}
	out, _, err = p.logs(t.Context(), logsFlags{node: "b"})
	if out != "thinking\n" || err != nil {
		t.Errorf("node b: %q %v", out, err)
	}
	out, _, err = p.logs(t.Context(), logsFlags{}, outputJSON)
	var result logsResult
	if err != nil || json.Unmarshal([]byte(out), &result) != nil || result.NotKept != 1 || len(result.Output) != 4 {
		t.Errorf("%v %s", err, out)
	}
	if diff := cmp.Diff(outputPiece{Node: "b", Attempt: "4", Stream: "agent", Text: "thinking\n", At: "2027-01-05T08:15:00.000Z"}, result.Output[3]); diff != "" {
		t.Error(diff)
	}
}

// A run that nobody runs any more ends the following, although its record does
// not tell, and of a process that was killed the row does not either.
func TestFollowingEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *printed) error{
		"parked": func(p *printed) error { return p.store.ParkRun(t.Context(), p.claim, "") },
		"killed": func(p *printed) error { return p.w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrinted(t)
			p.prints("a", "1", spool.Stdout, "hello")
			type answer struct {
				out, errs string
				err       error
			}
			answers := make(chan answer, 1)
			go func() {
				out, errs, err := p.logs(t.Context(), logsFlags{follow: true})
				answers <- answer{out, errs, err}
			}()
			<-p.clock.waits
			p.clock.Advance(aliveness) // it is held
			<-p.clock.waits
			p.must(leave(p))
			p.clock.Advance(aliveness)
			got := <-answers
			if got.out != "a | hello\n" || got.err != nil || !strings.Contains(got.errs, "is running, but no process runs it") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A run whose process was killed is interrupted before its claim has run out, and
// where its row is not known.
func TestARunWithoutAnOwnerIsInterrupted(t *testing.T) {
	t.Parallel()
	p := newPrinted(t)
	standing := func(want, elsewhere runbundle.Status) {
		t.Helper()
		b, err := runbundle.Read(p.w.Dir())
		p.must(err)
		if got, err := standingOf(t.Context(), p.store, b); got != want || err != nil {
			t.Errorf("it stands as %q, %v; want %q", got, err, want)
		}
		if got, err := standingOf(t.Context(), nil, b); got != elsewhere || err != nil {
			t.Errorf("without a row it stands as %q, %v; want %q", got, err, elsewhere)
		}
	}
	standing("", "")
	p.must(p.w.Close())
	standing(host.StatusInterrupted, host.StatusInterrupted)
	p.must(p.store.ParkRun(t.Context(), p.claim, ""))
	standing("parked", host.StatusInterrupted)
}

func TestFollowingIsInterrupted(t *testing.T) {
	t.Parallel()
	p := newPrinted(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	if _, _, err := p.logs(ctx, logsFlags{follow: true}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("error %v", err)
	}
}

func TestOutputOfASteps(t *testing.T) {
	t.Parallel()
	step := func(kind, outcome, output, message string, receipt *runbundle.Receipt) runbundle.Step {
		return runbundle.Step{NodeID: "n", AttemptID: "a", NodeType: kind, Outcome: runbundle.Outcome(outcome), Output: json.RawMessage(output), Error: message, Action: receipt}
	}
	function := &runbundle.Receipt{ActionType: runbundle.ActionFunction}
	tests := []struct {
		name string
		step runbundle.Step
		want string
		kept bool
	}{
		{"result", step("action", "ok", shellResult, "", shellReceipt), "stdout:out\n stderr:err", true},
		{"silent result", step("action", "ok", `{"command":"sh","stdout":"","stderr":""}`, "", shellReceipt), "", true},
		{"parsed", step("action", "ok", `{"stdout":"mine"}`, "", shellReceipt), "", false},
		{"parsed to nothing", step("action", "ok", `null`, "", shellReceipt), "", false},
		{"failed command", step("action", "failed", ``, "exit 1", shellReceipt), "error:exit 1\n", false},
		{"function", step("action", "ok", shellResult, "", function), "", true},
		{"failed function", step("action", "failed", ``, "no", function), "error:no\n", true},
		{"compute", step("compute", "ok", `1`, "", nil), "", true},
		{"agent", step("agent", "ok", `1`, "", nil), "", false},
		{"agent that failed", step("agent", "timed_out", ``, "too late", nil), "error:too late\n", false},
	}
	for _, test := range tests {
		list, kept := outputOf(test.step)
		var got []string
		for _, o := range list {
			got = append(got, o.Stream+":"+o.Text)
		}
		if text := strings.Join(got, " "); text != test.want || kept != test.kept {
			t.Errorf("%s: %q kept %v", test.name, text, kept)
		}
	}
}

func TestLinesOfLogs(t *testing.T) {
	t.Parallel()
	var p outputLines
	var b strings.Builder
	for _, o := range []outputPiece{
		{Node: "a", Attempt: "1", Stream: "stdout", Text: "one\ntw"},
		{Node: "a", Attempt: "1", Stream: "stdout", Text: "o\n\n  three"},
		{Node: "a", Attempt: "1", Stream: "stderr", Text: "bad\x1b[31m\n"},
		{Node: "a", Attempt: "1", Stream: "stdout", Text: "10%\r20%"},
		{Node: "a", Attempt: "2", Stream: "stdout", Text: "\ta\x07"},
		{Node: "sub/b", Attempt: "3", Stream: "agent", Text: "hm\n"},
		{Node: "sub/b", Attempt: "3", Dropped: true},
		{Node: "sub/b", Attempt: "3", Stream: "error", Text: "no\n"},
		{Node: "c\x1b[1m", Attempt: "4", Stream: "stdout", Text: ""},
		{Node: "c\x1b[1m", Attempt: "4", Stream: "stdout", Text: "end"},
	} {
		b.WriteString(p.text(o))
	}
	want := "a | one\na | two\na | \na |   three\na ! bad\na | 10%\na | 20%\na | \ta\uFFFD\nsub/b | hm\nsub/b | … the rest was not kept\nsub/b ✗ no\nc | end"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSummaryOfLogs(t *testing.T) {
	t.Parallel()
	a, _, _ := screen()
	tests := []struct {
		status       runbundle.Status
		follow, held bool
		notKept      int
		want         string
	}{
		{runbundle.Running, false, true, 0, "running: go on with --follow"},
		{runbundle.Running, false, false, 0, "running, but no process runs it"},
		{runbundle.Running, true, false, 2, "running, but no process runs it; what 2 steps printed was not kept"},
		{runbundle.TimedOut, false, true, 1, "timed out: this is what its record has; what 1 step printed was not kept"},
		{runbundle.Completed, true, true, 0, "completed"},
	}
	for _, test := range tests {
		b := someBundle()
		b.State.Status = test.status
		p := &logPrinter{app: a, logs: &logs{bundle: b, notKept: test.notKept}, flags: logsFlags{follow: test.follow}}
		if got, want := p.summary(test.held), "run "+otherRun+" is "+test.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
