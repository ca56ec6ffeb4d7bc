package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

// world is a project with one controller, "job", whose resources each ask for
// one child run of the workflow "work" and report its output.
type world struct {
	paths   host.Paths
	clock   clock.Clock
	catalog *host.Catalog
	store   *sqlite.Store
}

type jobSpec struct {
	// Mode is handed to the workflow: "quick", "hang", "fail", "large", or "stubborn",
	// which hangs although it is told to end.
	Mode string `json:"mode"`
}

type jobStatus struct {
	Output   string `json:"output,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
}

type jobs struct{}

func (jobs) Reconcile(ctx context.Context, p *controller.Pass, r controller.Resource[jobSpec, jobStatus]) (controller.Result[jobStatus], error) {
	child, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "work", Workflow: "work", Input: r.Spec})
	if err != nil {
		return controller.Result[jobStatus]{}, err
	}
	status := jobStatus{Output: string(child.Output), Attempts: child.Attempt}
	ready := controller.ConditionUnknown(controller.Ready, "Working", "")
	switch child.State {
	case controller.RunSucceeded:
		ready = controller.ConditionTrue(controller.Ready, "Worked", "")
	case controller.RunFailed:
		ready = controller.ConditionFalse(controller.Ready, "WorkFailed", child.Error)
	default:
	}
	return controller.Settled(controller.Patch[jobStatus]{
		ControllerStatus: &status, Conditions: []controller.Condition{ready},
	}), nil
}

// work is the child workflow. started hears of each attempt; release ends the
// ones that hang.
type work struct {
	started chan string
	release chan struct{}
}

func newWork() work { return work{started: make(chan string, 16), release: make(chan struct{})} }

func (w work) definition() *workflow.Definition {
	return &workflow.Definition{
		Name: "work", Revision: "1", StartAt: "do",
		Input: func(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
			var s jobSpec
			if err := json.Unmarshal(raw, &s); err != nil || s.Mode == "" {
				return nil, errors.New("mode is missing")
			}
			return raw, nil
		},
		Nodes: []workflow.Node{workflow.Compute{ID: "do", Run: w.do}},
	}
}

func (w work) do(ctx context.Context, c *workflow.Context) (any, error) {
	spec, err := workflow.InputAs[jobSpec](c)
	if err != nil {
		return nil, err
	}
	w.started <- c.RunID
	switch spec.Mode {
	case "fail":
		return nil, errors.New("it does not work")
	case "large": // each number is 4 characters here and 16 in canonical form
		return json.RawMessage("[" + strings.Repeat("1E15,", 65_000) + "1E15]"), nil
	case "stubborn":
		<-w.release
	case "hang":
		select {
		case <-w.release:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return "worked", nil
}

func newWorld(t *testing.T, w work) *world {
	t.Helper()
	return openWorld(t, t.TempDir(), w)
}

// openWorld opens the project in a folder, as a new process does.
func openWorld(t *testing.T, dir string, w work) *world {
	t.Helper()
	return openWorldAt(t, dir, w, clock.System())
}

// openWorldAt is openWorld with a clock for the store and the host.
func openWorldAt(t *testing.T, dir string, w work, c clock.Clock) *world {
	t.Helper()
	world, err := load(dir, w, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return world
}

func load(dir string, w work, c clock.Clock) (*world, error) {
	paths := host.Paths{Project: dir, Store: filepath.Join(dir, "store", "controller.sqlite"), Runs: filepath.Join(dir, "runs")}
	definitions := host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", jobs{})},
		Workflows:   []*workflow.Definition{w.definition()},
	}
	catalog, err := definitions.Compile()
	if err != nil {
		return nil, err
	}
	store, err := host.OpenStore(context.Background(), paths, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &world{paths: paths, clock: c, catalog: catalog, store: store}, nil
}

func (w *world) options() host.Options {
	return host.Options{Paths: w.paths, Catalog: w.catalog, Clock: w.clock}
}

// dir is the folder of a run.
func (w *world) dir(runID string) string { return filepath.Join(w.paths.Runs, runID) }

func (w *world) host(t *testing.T) *host.Host {
	t.Helper()
	h, err := hostOf(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (w *world) put(t *testing.T, key, mode string) {
	t.Helper()
	if err := w.tryPut(t, key, mode); err != nil {
		t.Fatal(err)
	}
}

func (w *world) tryPut(t *testing.T, key, mode string) error {
	t.Helper()
	def, err := w.catalog.Controllers.Get("job")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(jobSpec{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	_, err = controller.PutSpec(t.Context(), w.store, def, controller.Put{Ref: job(key), Spec: spec})
	return err
}

func job(key string) controller.Ref { return controller.Ref{Controller: "job", Key: key} }

// job returns a resource with its author's status.
func (w *world) job(t *testing.T, key string) (controller.Readiness, jobStatus) {
	t.Helper()
	r, err := w.store.Get(t.Context(), job(key))
	if err != nil {
		t.Fatal(err)
	}
	var s jobStatus
	if err := json.Unmarshal(r.Status.ControllerStatus, &s); err != nil {
		t.Fatal(err)
	}
	return controller.ReadinessOf(r), s
}

// once runs a host until nothing is left to do.
func (w *world) once(t *testing.T) host.Summary {
	t.Helper()
	h := w.host(t)
	s, err := h.RunOnce(t.Context())
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
	return s
}

// patience bounds a wait for something that happens within milliseconds, so
// that a defect ends the test and not the test run.
const patience = 20 * time.Second

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	return awaitFor(t, patience, c)
}

func awaitFor[T any](t *testing.T, patience time.Duration, c <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case v := <-c:
		return v
	case <-ctx.Done():
		t.Fatal("nothing happened")
		panic("unreachable")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func hostOf(w *world) (*host.Host, error) {
	return host.New(context.Background(), w.options(), w.store)
}

// readLine reads one line without its end.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func isProjectError(err error) bool {
	_, ok := errors.AsType[*host.ProjectError](err)
	return ok
}

func containsSecret(text string) bool { return strings.Contains(text, "secret") }

func mustMkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// erase closes the store of a world and erases it.
func (w *world) erase(t *testing.T) {
	t.Helper()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := host.Erase(t.Context(), w.paths, clock.System(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}
