package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func TestAChildRunWakesItsParentWithItsOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "quick")
	w.put(t, "b", "fail")
	if s := w.once(t); len(s.Delayed) != 0 {
		t.Fatalf("something is left: %+v", s)
	}
	ready, status := w.job(t, "a")
	if ready.Status != controller.True || status.Output != `"worked"` || status.Attempts != 1 {
		t.Errorf("a: %+v %+v", ready, status)
	}
	ready, status = w.job(t, "b")
	if ready.Reason != "WorkFailed" || status.Attempts != 1 {
		t.Errorf("b: %+v %+v", ready, status)
	}
}

func TestAStopInterruptsAndTheNextHostBeginsTheNextAttempt(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	w.put(t, "a", "hang")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h := w.host(t)
	go func() { ended <- h.Run(ctx) }()
	first := await(t, work.started)
	stop()
	if err := await(t, ended); err != nil {
		t.Fatal(err)
	}
	w.mustBeInterrupted(t, first)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	close(work.release)
	second := openWorld(t, w.paths.Project, work)
	second.once(t)
	if again := await(t, work.started); again == first {
		t.Error("the second attempt has the run ID of the first")
	}
	ready, status := second.job(t, "a")
	if ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("after the second attempt: %+v %+v", ready, status)
	}
}

// mustBeInterrupted checks the bundle and the record of an attempt: it did not
// fail, it was interrupted.
func (w *world) mustBeInterrupted(t *testing.T, runID string) {
	t.Helper()
	w.mustEndInterrupted(t, runID)
	children, err := w.store.Children(t.Context(), job("a"))
	if err != nil {
		t.Fatal(err)
	}
	if len(children) != 1 || children[0].State != controller.RunInterrupted || children[0].RunID != runID ||
		children[0].Interruptions != 0 {
		t.Errorf("children: %+v", children)
	}
	if q, err := w.store.Queue(t.Context(), job("a")); err != nil || q.State != controller.QueueReady || q.ConsecutiveErrors != 0 {
		t.Errorf("the parent is not awake: %+v %v", q, err)
	}
}

// victimEnv names the folder in which a killed host works.
const victimEnv = "PI_WORKFLOWS_HOST_TEST_VICTIM"

// runVictim runs a host whose child run hangs, and says so on stdout.
func runVictim(dir string) {
	work := newWork()
	w, err := load(dir, work, clock.System())
	if err != nil {
		panic(err)
	}
	h, err := hostOf(w)
	if err != nil {
		panic(err)
	}
	go func() {
		os.Stdout.WriteString(<-work.started + "\n")
	}()
	_ = h.Run(context.Background())
}

func TestWhatAKilledHostHeldGoesOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := openWorld(t, dir, newWork())
	before.put(t, "a", "hang")

	first := killVictim(t, dir)

	work := newWork()
	close(work.release)
	after := openWorld(t, dir, work)
	ctx, cancel := context.WithTimeout(t.Context(), patience) // shorter than a lease
	defer cancel()
	if _, err := after.host(t).RunOnce(ctx); err != nil {
		t.Fatal(err)
	}
	after.mustEndInterrupted(t, first)
	ready, status := after.job(t, "a")
	if ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("after the second attempt: %+v %+v", ready, status)
	}
	if children, err := after.store.Children(t.Context(), job("a")); err != nil || children[0].Interruptions != 1 {
		t.Errorf("children: %+v, %v; want one interruption", children, err)
	}
}

// A line that the killed process wrote in part must not make a failure of it.
func TestAnAttemptWithATornTraceIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openWorld(t, dir, newWork()).put(t, "a", "hang")
	first := killVictim(t, dir)
	work := newWork()
	close(work.release)
	after := openWorld(t, dir, work)
	trace, err := os.OpenFile(filepath.Join(after.dir(first), "trace.ndjson"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = trace.WriteString(`{"seq":`)
	if err := errors.Join(err, trace.Close()); err != nil {
		t.Fatal(err)
	}
	after.once(t)
	after.mustEndInterrupted(t, first)
	if ready, status := after.job(t, "a"); ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("after the second attempt: %+v %+v", ready, status)
	}
}

func (w *world) mustEndInterrupted(t *testing.T, runID string) {
	t.Helper()
	b, err := runbundle.Read(w.dir(runID))
	if err != nil {
		t.Fatal(err)
	}
	if b.State.Status != runbundle.Failed || !b.Interrupted() {
		t.Errorf("the bundle is %s, its last event %s", b.State.Status, b.Events[len(b.Events)-1].Type)
	}
}

// A host runs no more children at once than it may; the others wait in the queue.
func TestAHostBoundsItsChildRuns(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		w.put(t, key, "hang")
	}
	o := w.options()
	o.ChildRuns = 2
	h, err := host.New(t.Context(), o, w.store)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.RunOnce(t.Context())
		ended <- err
	}()
	await(t, work.started)
	await(t, work.started)
	w.awaitReserved(t, 5)
	running, err := w.store.Runs(t.Context(), runqueue.Query{Status: runqueue.Running})
	if err != nil || len(running) != 2 || len(work.started) != 0 {
		t.Errorf("%d runs, %v; want 2", len(running), err)
	}
	close(work.release)
	if err := errors.Join(await(t, ended), h.Close()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		if ready, _ := w.job(t, key); ready.Status != controller.True {
			t.Errorf("%s: %+v", key, ready)
		}
	}
}

// awaitReserved waits until there are rows of n runs.
func (w *world) awaitReserved(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var after controller.Cursor
	for {
		runs, err := w.store.Runs(ctx, runqueue.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) >= n {
			return
		}
		changes, err := w.store.Changes(ctx, after, controller.ChangeFilter{})
		if err != nil {
			t.Fatal(err)
		}
		after = changes.Next
	}
}

// killVictim starts a host in another process, kills it in the middle of its
// child run, and returns the ID of that run.
func killVictim(t *testing.T, dir string) string {
	t.Helper()
	return killProcess(t, victimEnv+"="+dir)
}

// killProcess starts the test program in a role, kills it once it has said the
// ID of a run, and returns that.
func killProcess(t *testing.T, role string) string {
	t.Helper()
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), role)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	runID, err := readLine(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // killed: it is an error, and meant to be
	return runID
}

func TestAnAttemptOfAnotherDefinitionIsInterrupted(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	w.put(t, "a", "quick")
	// A pass reserves the attempt; no run worker is there to start it.
	m, err := controller.NewManager(controller.ManagerOptions{
		Store: w.store, Definitions: []*controller.Definition{controller.Define("job", jobs{})}, Scheduler: oldScheduler{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ran, err := m.RunOnce(t.Context()); !ran || err != nil {
		t.Fatalf("RunOnce = %v, %v", ran, err)
	}
	w.once(t)
	ready, status := w.job(t, "a")
	if ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("%+v %+v", ready, status)
	}
}

// oldScheduler pins a definition that no program has any more.
type oldScheduler struct{}

func (oldScheduler) Resolve(context.Context, string) (controller.WorkflowIdentity, error) {
	return controller.WorkflowIdentity{Source: []byte(`{}`), Digest: "sha256:old"}, nil
}

func (oldScheduler) NewRunID(string) string { return "old-run" }

// A bundle that nobody can read must not keep its parent waiting for ever.
func TestAnAttemptWithABrokenBundleFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openWorld(t, dir, newWork()).put(t, "a", "hang")
	runID := killVictim(t, dir)
	after := openWorld(t, dir, newWork())
	if err := os.WriteFile(filepath.Join(after.paths.Runs, runID, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	after.once(t)
	if ready, status := after.job(t, "a"); ready.Reason != "WorkFailed" || status.Attempts != 1 {
		t.Errorf("%+v %+v", ready, status)
	}
}
