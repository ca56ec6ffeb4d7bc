package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// helpers are what the test binary can be instead, by the variable that names its
// folder.
var helpers = map[string]func(dir string){crashEnv: crashHelper}

func TestMain(m *testing.M) {
	for env, help := range helpers {
		if dir := os.Getenv(env); dir != "" {
			help(dir)
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// watched is a clock that stands still and tells which timers were made.
type watched struct {
	*clocktest.Manual

	mu      sync.Mutex
	made    map[time.Duration]int
	changed chan struct{}
}

func newWatched() *watched {
	return &watched{Manual: clocktest.New(), made: map[time.Duration]int{}, changed: make(chan struct{})}
}

func (w *watched) NewTimer(d time.Duration) clock.Timer {
	timer := w.Manual.NewTimer(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[d]++
	close(w.changed)
	w.changed = make(chan struct{})
	return timer
}

// await blocks until n timers of that length were made.
func (w *watched) await(t *testing.T, d time.Duration, n int) {
	t.Helper()
	for {
		w.mu.Lock()
		made, changed := w.made[d], w.changed
		w.mu.Unlock()
		if made >= n {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("no timer of %s", d)
		}
	}
}

// rig is an engine with its own folder, clock and IDs.
type rig struct {
	t       *testing.T
	clock   *watched
	options engine.Options
	start   engine.StartOptions
	// begun holds the run that goes on.
	begun chan *engine.Run

	mu     sync.Mutex
	events []runbundle.Event
}

const runID = "20270105T081500Z-greet-0a1b2c3d"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, clock: newWatched(), begun: make(chan *engine.Run, 1)}
	ids := 0
	r.options = engine.Options{
		Clock: r.clock, RunsDir: filepath.Join(t.TempDir(), "runs"),
		NewID: func() string {
			ids++
			return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids)
		},
	}
	r.start = engine.StartOptions{RunID: runID, Observe: r.observe}
	return r
}

func (r *rig) observe(e runbundle.Event, _ workflow.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *rig) begin(d *workflow.Definition) *engine.Run {
	r.t.Helper()
	return r.took(engine.New(r.options).Start(r.t.Context(), r.graph(d), r.start))
}

// resume takes up the run that was begun.
func (r *rig) resume(d *workflow.Definition) *engine.Run {
	r.t.Helper()
	return r.took(engine.New(r.options).Resume(r.t.Context(), r.graph(d), engine.ResumeOptions{
		RunID: r.start.RunID, Fence: r.start.Fence, Observe: r.start.Observe,
	}))
}

func (r *rig) took(run *engine.Run, err error) *engine.Run {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	select {
	case <-r.begun: // an earlier one
	default:
	}
	r.begun <- run
	return run
}

// at acts on the goroutine of the run when the n-th event of a type is told.
func (r *rig) at(kind runbundle.EventType, n int, act func(run *engine.Run)) {
	told := r.start.Observe
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		told(e, v)
		if e.Type == kind {
			if n--; n == 0 {
				run := <-r.begun
				r.begun <- run
				act(run)
			}
		}
	}
}

// run runs a workflow to its end and checks what must hold of every record.
func (r *rig) run(d *workflow.Definition) (engine.Result, *runbundle.Bundle) {
	r.t.Helper()
	return r.finish(r.begin(d))
}

func (r *rig) finish(run *engine.Run) (engine.Result, *runbundle.Bundle) {
	r.t.Helper()
	result := run.Wait()
	select {
	case <-r.begun:
	default: // it was not begun by this rig
	}
	if result.Err != nil {
		r.t.Fatalf("not recorded: %v", result.Err)
	}
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		r.t.Fatal(err)
	}
	s := b.State
	if s.Status != result.Status || s.Error != result.Error || s.ErrorCode != result.ErrorCode || s.WaitingOn != result.WaitingOn ||
		string(s.FinalOutput) != string(result.FinalOutput) || b.Interrupted() != result.Interrupted {
		r.t.Errorf("the result %+v is not what is recorded: %s %q %q", result, s.Status, s.Error, s.ErrorCode)
	}
	texts := cmp.Transformer("text", func(raw json.RawMessage) string { return string(raw) })
	if diff := cmp.Diff(b.Events, r.events, texts); diff != "" {
		r.t.Errorf("the observer was told something else (-trace +told):\n%s", diff)
	}
	return result, b
}

// flow is a definition with plain edges from each node to the next.
func flow(nodes ...workflow.Node) *workflow.Definition {
	d := &workflow.Definition{Name: "greet", Revision: "1", StartAt: nodes[0].NodeID(), Nodes: nodes}
	for i := 1; i < len(nodes); i++ {
		d.Edges = append(d.Edges, workflow.Edge{From: nodes[i-1].NodeID(), To: nodes[i].NodeID()})
	}
	return d
}

func compute(id string, run workflow.Func) workflow.Compute {
	return workflow.Compute{ID: id, Run: run}
}

// gives is a callback that returns always the same.
func gives(v any, err error) workflow.Func {
	return func(context.Context, *workflow.Context) (any, error) { return v, err }
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// trail writes the steps as text: node and outcome.
func trail(b *runbundle.Bundle) string {
	var steps []string
	for _, s := range b.State.Steps {
		steps = append(steps, s.NodeID+":"+string(s.Outcome))
	}
	return strings.Join(steps, " ")
}

// kinds writes the events of a trace as text.
func kinds(b *runbundle.Bundle) string {
	var names []string
	for _, e := range b.Events {
		names = append(names, string(e.Type))
	}
	return strings.Join(names, " ")
}

func (r *rig) want(result engine.Result, status runbundle.Status, code, message string) {
	r.t.Helper()
	if result.Status != status || result.ErrorCode != code || !strings.Contains(result.Error, message) {
		r.t.Errorf("run ended %s %q %q, want %s %q and an error with %q",
			result.Status, result.ErrorCode, result.Error, status, code, message)
	}
}

func wantErr[E error](t *testing.T, err error) E {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Fatalf("error %v (%T), want a %T", err, err, want)
	}
	return want
}

// enough is how many random runs are recorded: each of them is synced many
// times.
var enough = func() int {
	if os.Getenv("PI_WORKFLOWS_STRESS") != "" {
		return 1000
	}
	return 25
}()

var errFull = syscall.ENOSPC

// payloadOf returns the payload of the one event of a type.
func payloadOf(t *testing.T, b *runbundle.Bundle, kind runbundle.EventType) string {
	t.Helper()
	found := ""
	for _, e := range b.Events {
		if e.Type == kind {
			if found != "" {
				t.Errorf("more than one %s", kind)
			}
			found = string(e.Payload)
		}
	}
	return found
}

// mustBeFree checks that a bundle has no owner any more.
func mustBeFree(t *testing.T, dir string) {
	t.Helper()
	lock, err := oslock.TryLockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
}

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
