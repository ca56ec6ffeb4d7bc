package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// trip is an interactive workflow: pack, wander, ask at a checkpoint, arrive. It
// tells which nodes ran, and wanders until it is told to stop.
type trip struct {
	revision string
	// wandering hears of each wanderer; home ends the wandering.
	wandering chan string
	home      chan struct{}

	mu      sync.Mutex
	ran     []string
	cleaned []string
}

func newTrip() *trip {
	return &trip{revision: "1", wandering: make(chan string, 16), home: make(chan struct{})}
}

// stay makes the trip end its wandering at once.
func (tr *trip) stay() *trip {
	close(tr.home)
	return tr
}

func (tr *trip) note(list *[]string, what string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	*list = append(*list, what)
}

// nodes are those that ran here, in order.
func (tr *trip) nodes() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.ran)
}

func (tr *trip) cleanedUp() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.cleaned)
}

func (tr *trip) definition() *workflow.Definition {
	return &workflow.Definition{
		Name: "trip", Revision: tr.revision, StartAt: "pack",
		Input: func(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
			if string(raw) == `"refused"` {
				return nil, errors.New("not that")
			}
			return raw, nil
		},
		Nodes: []workflow.Node{
			workflow.Compute{ID: "pack", Run: func(context.Context, *workflow.Context) (any, error) {
				tr.note(&tr.ran, "pack")
				return "bag", nil
			}},
			workflow.Compute{ID: "wander", Run: func(ctx context.Context, c *workflow.Context) (any, error) {
				tr.note(&tr.ran, "wander")
				tr.wandering <- c.RunID
				select {
				case <-tr.home:
					return "tired", nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}},
			workflow.Checkpoint{ID: "ask", Summary: "where to?"},
			workflow.Compute{ID: "arrive", Run: func(_ context.Context, c *workflow.Context) (any, error) {
				tr.note(&tr.ran, "arrive")
				return c.Input, nil
			}},
		},
		Edges: []workflow.Edge{{From: "pack", To: "wander"}, {From: "wander", To: "ask"}, {From: "ask", To: "arrive"}},
		Cleanup: func(_ context.Context, c *workflow.Context) error {
			tr.note(&tr.cleaned, c.RunID)
			return nil
		},
	}
}

// travel opens a project whose one workflow is a trip.
func travel(t *testing.T, dir string, way *trip) *world {
	t.Helper()
	return travelAt(t, dir, way, clock.System())
}

func travelAt(t *testing.T, dir string, way *trip, c clock.Clock) *world {
	t.Helper()
	w := openWorldAt(t, dir, newWork(), c)
	w.catalog = compileAll(t, way.definition())
	return w
}

// outcome is how a run in this process ended.
type outcome struct {
	result engine.Result
	err    error
}

// goes starts something that follows a run.
func goes(f func() (engine.Result, error)) <-chan outcome {
	ended := make(chan outcome, 1)
	go func() {
		result, err := f()
		ended <- outcome{result, err}
	}()
	return ended
}

// parked starts a trip and parks it while it wanders.
func (w *world) parked(t *testing.T, way *trip) (runID string) {
	t.Helper()
	o := w.options()
	runs := make(chan *engine.Run, 1)
	o.Control = func(r *engine.Run) { runs <- r }
	ended := goes(func() (engine.Result, error) {
		return host.RunWorkflow(t.Context(), o, w.store, "trip", []byte(`"south"`))
	})
	runID = await(t, way.wandering)
	await(t, runs).Park()
	end := await(t, ended)
	if end.err != nil || !end.result.Parked || end.result.RunID != runID {
		t.Fatalf("RunWorkflow = %+v, %v", end.result, end.err)
	}
	w.mustBe(t, runID, runqueue.Parked, runbundle.Running)
	return runID
}

// waiting runs a trip up to its question.
func (w *world) waiting(t *testing.T) (runID string) {
	t.Helper()
	result, err := host.RunWorkflow(t.Context(), w.options(), w.store, "trip", []byte(`"south"`))
	if err != nil || result.Status != runbundle.Waiting {
		t.Fatalf("RunWorkflow = %+v, %v", result, err)
	}
	w.mustBe(t, result.RunID, runqueue.Done, runbundle.Waiting)
	return result.RunID
}

func (w *world) resume(t *testing.T, runID string) (engine.Result, error) {
	t.Helper()
	return host.ResumeRun(t.Context(), w.options(), w.store, runID, host.ResumeOptions{})
}

func (w *world) answer(t *testing.T, runID, answer string) (engine.Result, error) {
	t.Helper()
	return host.AnswerRun(t.Context(), w.options(), w.store, runID, []byte(answer), host.ResumeOptions{})
}

func (w *world) cancel(t *testing.T, runID string) (string, error) {
	t.Helper()
	return host.CancelRun(t.Context(), w.options(), w.store, runID)
}

func (w *world) row(t *testing.T, runID string) runqueue.Row {
	t.Helper()
	row, err := w.store.Run(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func (w *world) bundle(t *testing.T, runID string) *runbundle.Bundle {
	t.Helper()
	b, err := runbundle.Read(w.dir(runID))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mustBe checks where a run stands, in its row and in its bundle.
func (w *world) mustBe(t *testing.T, runID string, row runqueue.Status, bundle runbundle.Status) {
	t.Helper()
	r := w.row(t, runID)
	if r.Status != row || r.Holder != "" {
		t.Errorf("row %+v, want %s in nobody's hands", r, row)
	}
	if b := w.bundle(t, runID); b.State.Status != bundle {
		t.Errorf("the bundle is %s, want %s", b.State.Status, bundle)
	}
}

// mustHaveRun checks which nodes ran in this process.
func (tr *trip) mustHaveRun(t *testing.T, want ...string) {
	t.Helper()
	if got := tr.nodes(); !slices.Equal(got, want) {
		t.Errorf("nodes %v ran, want %v", got, want)
	}
}

// wantError finds an error of a type.
func wantError[E error](t *testing.T, err error) E {
	t.Helper()
	found, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got error %v, want a %T", err, found)
	}
	return found
}

// travellerEnv names the folder in which a process goes on a trip and is killed.
const travellerEnv = "PI_WORKFLOWS_HOST_TEST_TRAVELLER"

func runTraveller(dir string) {
	way := newTrip()
	w, err := load(dir, newWork(), clock.System())
	if err == nil {
		w.catalog, err = host.Definitions{
			Controllers: []*controller.Definition{controller.Define("job", jobs{})}, Workflows: []*workflow.Definition{way.definition()},
		}.Compile()
	}
	if err != nil {
		panic(err)
	}
	go func() { os.Stdout.WriteString(<-way.wandering + "\n") }()
	_, _ = host.RunWorkflow(context.Background(), w.options(), w.store, "trip", []byte(`"south"`))
}

// wanderAfter is a trip that wanders where it would arrive.
func wanderAfter(tr *trip) *workflow.Definition {
	def := tr.definition()
	for i, n := range def.Nodes {
		if c, ok := n.(workflow.Compute); ok && c.ID == "arrive" {
			c.Run = def.Nodes[1].(workflow.Compute).Run // it is the wandering
			def.Nodes[i] = c
		}
	}
	return def
}
