package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a clock that stands still and tells which timers were made.
type watched struct {
	*clocktest.Manual

	made chan time.Duration
}

func newWatched() *watched {
	return &watched{Manual: clocktest.New(), made: make(chan time.Duration, 100)}
}

func (w *watched) NewTimer(d time.Duration) clock.Timer {
	defer func() { w.made <- d }()
	return w.Manual.NewTimer(d)
}

// await blocks until a timer of that length was made since the last call.
func (w *watched) await(t *testing.T, d time.Duration) {
	t.Helper()
	for {
		select {
		case made := <-w.made:
			if made == d {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("no timer of %s", d)
		}
	}
}

// world is an engine over a folder of its own with one workflow: a loop over the
// decision "more", and the step "answer" that takes numbers above zero.
type world struct {
	t       *testing.T
	clock   clock.Clock
	options engine.Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New()}
	w.options = engine.Options{RunsDir: filepath.Join(t.TempDir(), "runs")}
	return w
}

var errNotPositive = errors.New("a number above zero is needed")

func count() *workflow.Definition {
	decide := workflow.Decision{
		ID: "more", Routes: []string{"yes", "no"}, Limit: workflow.DecisionLimit{Submissions: 3},
		Question: func(context.Context, *workflow.Context) (string, error) { return "Is there more?", nil },
	}
	answer := workflow.Agent{
		ID: "answer", ExpectedOutput: "a number",
		Prompt: func(context.Context, *workflow.Context) (string, error) { return "How many?", nil },
		Validate: func(_ context.Context, _ *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
			var n int
			if json.Unmarshal(output, &n) != nil || n <= 0 {
				return nil, errNotPositive
			}
			return output, nil
		},
	}
	end := workflow.Compute{ID: "end", Run: func(_ context.Context, c *workflow.Context) (any, error) {
		return workflow.OutputAs[int](c, "answer")
	}}
	return &workflow.Definition{
		Name: "count", Revision: "1", StartAt: "answer", Nodes: []workflow.Node{answer, decide.Node(), end},
		Edges: []workflow.Edge{{From: "answer", To: "more"}, {From: "more", Switch: &workflow.Switch{On: "$.route", Cases: []workflow.Case{
			{Value: "yes", To: "answer"}, {Value: "no", To: "end"},
		}}}},
	}
}

// single is the workflow with the step "answer" only.
func single() *workflow.Definition {
	d := count()
	d.Nodes, d.Edges = d.Nodes[:1], nil
	return d
}

func (w *world) graph(d *workflow.Definition) *workflow.Graph {
	w.t.Helper()
	g, err := workflow.Compile(d)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func (w *world) start(d *workflow.Definition, agents engine.AgentExecutor) *engine.Run {
	w.t.Helper()
	w.options.Agents, w.options.Clock = agents, w.clock
	run, err := engine.New(w.options).Start(w.t.Context(), w.graph(d), engine.StartOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

func (w *world) run(d *workflow.Definition, agents engine.AgentExecutor) engine.Result {
	w.t.Helper()
	return w.start(d, agents).Wait()
}

func (w *world) script(format string, args ...any) *script {
	w.t.Helper()
	s, err := parse(fmt.Sprintf(format, args...), w.clock)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func want(t *testing.T, r engine.Result, status runbundle.Status, code, message string) {
	t.Helper()
	if r.Status != status || r.ErrorCode != code || !strings.Contains(r.Error, message) {
		t.Errorf("run ended %s %q %q, want %s %q and an error with %q", r.Status, r.ErrorCode, r.Error, status, code, message)
	}
}

func wantErr[E error](t *testing.T, err error) E {
	t.Helper()
	want, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("error %v (%T), want a %T", err, err, want)
	}
	return want
}
