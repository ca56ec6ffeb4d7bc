package runbundle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		crashHelper(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	runID    = "20270105T081500Z-greet-0a1b2c3d"
	snapshot = `{"schema":"pi-workflows.definition-snapshot.v1","name":"greet","startAt":"pick",` +
		`"nodes":{"pick":{"nodeType":"agent"},"10":{"nodeType":"action","actionExecution":"shell"},"2":{"nodeType":"compute"}},` +
		`"edges":[{"from":"pick","switch":{"on":"$.route","cases":{"b":"10","a":"2"}}}],"composition":{"mounts":[]}}`
)

// bundle is a folder of bundles under a clock that stands still.
type bundle struct {
	clock   *clocktest.Manual
	root    string
	options runbundle.Options
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	c := clocktest.New()
	return &bundle{clock: c, root: filepath.Join(t.TempDir(), "runs"), options: runbundle.Options{Clock: c}}
}

func (b *bundle) dir() string { return filepath.Join(b.root, runID) }

func (b *bundle) file(name string) string { return filepath.Join(b.dir(), name) }

func (b *bundle) init() runbundle.Init {
	return runbundle.Init{
		RunID: runID, WorkflowName: "greet", Title: "Say <hello> & go",
		Source: json.RawMessage(`{"kind":"builtin","id":"greet","revision":"1"}`), Digest: "sha256:00ff",
		Snapshot: json.RawMessage(snapshot), Input: json.RawMessage(`{"z":1,"a":[1e21, "<&>"]}`), StartedAt: b.clock.Now(),
	}
}

func (b *bundle) create(t *testing.T) *writer {
	t.Helper()
	w, err := runbundle.Create(t.Context(), b.options, b.root, b.init())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &writer{Writer: w, b: b, t: t}
}

func (b *bundle) read(t *testing.T) *runbundle.Bundle {
	t.Helper()
	read, err := runbundle.Read(b.dir())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// writer appends events, each a millisecond after the last.
type writer struct {
	*runbundle.Writer

	b *bundle
	t *testing.T
}

func (w *writer) add(d runbundle.Draft) runbundle.Event {
	w.t.Helper()
	e, err := w.try(d)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *writer) try(d runbundle.Draft) (runbundle.Event, error) {
	w.b.clock.Advance(time.Millisecond)
	d.At = w.b.clock.Now()
	return w.Append(context.Background(), d)
}

// stateOf reads the whole state of a writer.
func stateOf(t *testing.T, w interface {
	State() (runbundle.State, error)
}) runbundle.State {
	t.Helper()
	s, err := w.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func node(name string, attempt int, p runbundle.Payload) runbundle.Draft {
	return runbundle.Draft{NodeID: name, AttemptID: fmt.Sprintf("attempt-%d", attempt), Payload: p}
}

func run(p runbundle.Payload) runbundle.Draft { return runbundle.Draft{Payload: p} }

func ok(output string) runbundle.NodeEnded {
	return runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, DurationMs: 1, Output: json.RawMessage(output)}
}

func failed(message string) runbundle.NodeEnded {
	return runbundle.NodeEnded{Outcome: "failed", DurationMs: 1, Error: message}
}

// long is a text that goes to an artifact, a different one for each letter.
func long(letter string) string { return strings.Repeat(letter, 5000) }

// story is a run with everything that the format has.
func story() []runbundle.Draft {
	shell := failed(long("e"))
	shell.Action = &runbundle.Receipt{ActionType: runbundle.ActionShell, CommandReceipt: &runbundle.CommandReceipt{
		Command: "make", Args: []string{"check"}, Dir: "/src", ExitCode: new(2), DurationMs: 1,
	}}
	function := ok(`{"$artifact":"mine"}`)
	function.Action = &runbundle.Receipt{ActionType: runbundle.ActionFunction}
	agent := ok(`{"route":"a","text":"` + long("o") + `"}`)
	agent.Conversation = &runbundle.Conversation{FirstEntryID: "e1", LastEntryID: "e9"}
	return []runbundle.Draft{
		node("pick", 1, runbundle.NodeStarted{NodeType: "agent", StatusDetail: "thinks"}),
		node("pick", 1, runbundle.PromptSent{Prompt: "Choose.\n" + long("p")}),
		node("pick", 1, runbundle.UpdatePublished{UpdateID: "u1", Kind: "progress", Key: "k", Data: json.RawMessage(`{"n":1}`)}),
		node("pick", 1, runbundle.UpdatePublished{UpdateID: "u2", Kind: "progress", Key: "k", Data: json.RawMessage(`{"n":2}`)}),
		node("pick", 1, agent),
		run(runbundle.RunPaused{}),
		run(runbundle.RunResumed{}),
		node("10", 2, runbundle.NodeStarted{NodeType: "action"}),
		node("10", 2, shell),
		node("2", 3, runbundle.NodeStarted{NodeType: "compute"}),
		node("2", 3, ok(`null`)),
		node("2", 4, runbundle.NodeStarted{NodeType: "compute"}),
		node("2", 4, failed("again")),
		node("10", 5, runbundle.NodeStarted{NodeType: "action"}),
		node("10", 5, function),
		run(runbundle.RunEnded{Status: runbundle.Completed, FinalOutput: json.RawMessage(`{"$artifact":"mine"}`)}),
	}
}

func (w *writer) tell(drafts []runbundle.Draft) {
	w.t.Helper()
	w.add(w.b.init().Started())
	for _, d := range drafts {
		w.add(d)
	}
}

// operations is a file layer that notes what is done, and fails the operations
// that its test wants to fail.
type operations struct {
	root string
	fail func(n int, op durable.Op, path string) error
	log  []string
}

func (o *operations) fs() *durable.FS {
	return durable.WithHook(func(op durable.Op, path string) error {
		name, _ := filepath.Rel(o.root, path)
		o.log = append(o.log, string(op)+" "+filepath.ToSlash(name))
		if o.fail == nil {
			return nil
		}
		return o.fail(len(o.log), op, path)
	})
}

// count returns how often an operation was done on a file.
func (o *operations) count(op, file string) (n int) {
	for _, line := range o.log {
		if strings.HasPrefix(line, op+" ") && strings.HasSuffix(line, "/"+file) {
			n++
		}
	}
	return n
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func wantErr[E error](t *testing.T, err error) E {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Fatalf("error %v (%T), want a %T", err, err, want)
	}
	return want
}

type int64ms int64

func (ms int64ms) duration() time.Duration { return time.Duration(ms) * time.Millisecond }

func quote(s string) string { return fmt.Sprintf("%q", s) }

// enough is how many random runs are written: each of them is synced many
// times.
var enough = func() int {
	if os.Getenv("PI_WORKFLOWS_STRESS") != "" {
		return 1000
	}
	return 25
}()

type contextType = context.Context

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
