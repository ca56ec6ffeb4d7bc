package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/workflow"
)

var errBusy = errors.New("the store is busy")

// onceOn runs a host on another store until nothing is left to do.
func (w *world) onceOn(t *testing.T, s host.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // shorter than a lease
	defer cancel()
	h, err := host.New(ctx, w.options(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.RunOnce(ctx)
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestARunDoesNotFailBecauseTheStoreDoes(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"StartChild", "CheckRun", "FinishChild"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newWork())
			w.put(t, "a", "quick")
			w.onceOn(t, w.failing(times(1, op, errBusy)))
			if ready, status := w.job(t, "a"); ready.Status != controller.True || status.Attempts != 1 {
				t.Errorf("%+v %+v", ready, status)
			}
		})
	}
}

// A canonical number may be longer than the one that the engine measured.
func TestAnOutputThatTheStoreRefusesFailsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "large")
	w.onceOn(t, w.store)
	ready, status := w.job(t, "a")
	if ready.Reason != "WorkFailed" || !strings.Contains(ready.Message, "output of a child run is") || status.Attempts != 1 {
		t.Errorf("%+v %+v", ready, status)
	}
}

func TestAStopDoesNotWaitForAStoreThatFails(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	w.put(t, "a", "hang")
	h, err := host.New(t.Context(), w.options(), w.failing(times(-1, "FinishChild", errBusy)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	await(t, work.started)
	stop()
	if err := errors.Join(await(t, ended), h.Close()); err != nil {
		t.Fatal(err)
	}
	close(work.release)
	w.reopen(t, work).once(t)
	if ready, status := w.job(t, "a"); ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("%+v %+v", ready, status)
	}
}

// reopen closes the store and opens the project again, as a new process does.
func (w *world) reopen(t *testing.T, work work) *world {
	t.Helper()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	*w = *openWorldAt(t, w.paths.Project, work, w.clock)
	return w
}

// TestAStopDuringAStartInterrupts holds a host in the input function of a run.
func TestAStopDuringAStartInterrupts(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	w.put(t, "a", "quick")
	def := work.definition()
	entered := make(chan struct{}, 1)
	def.Input = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, errors.New("not now")
	}
	w.catalog = compileAll(t, def)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h := w.host(t)
	go func() { ended <- h.Run(ctx) }()
	await(t, entered)
	stop()
	if err := await(t, ended); err != nil {
		t.Fatal(err)
	}
	children, err := w.store.Children(t.Context(), job("a"))
	if err != nil || len(children) != 1 || children[0].State != controller.RunInterrupted {
		t.Errorf("children: %+v, %v", children, err)
	}
}

func compileAll(t *testing.T, defs ...*workflow.Definition) *host.Catalog {
	t.Helper()
	c, err := host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", jobs{})}, Workflows: defs,
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A record that cannot be made today is no failure of the run. The engine gives
// up after the time of a lease; the row is taken up again after another. (In fake time,
// which passes only while all wait: who works on files or in SQLite is not waiting.)
func TestARunThatCannotBeRecordedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, aRunThatCannotBeRecorded)
}

func aRunThatCannotBeRecorded(t *testing.T) {
	t.Helper()
	work := newWork()
	w := openWorldAt(t, t.TempDir(), work, clock.System())
	w.put(t, "a", "quick")
	seconds := int(lease.DefaultDuration / time.Second)
	h, err := host.New(t.Context(), w.options(), w.failing(times(seconds+5, "CheckRun", errBusy)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	awaitFor(t, 3*lease.DefaultDuration, work.started)
	stop()
	if err := errors.Join(await(t, ended), h.Close()); err != nil {
		t.Fatal(err)
	}
	children, err := w.store.Children(t.Context(), job("a"))
	if err != nil || len(children) != 1 || children[0].State == controller.RunFailed {
		t.Errorf("children: %+v, %v", children, err)
	}
}
