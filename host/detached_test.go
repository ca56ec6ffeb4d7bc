package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// queued leaves a trip to the hosts.
func (w *world) queued(t *testing.T) (runID string) {
	t.Helper()
	runID, err := host.QueueWorkflow(t.Context(), w.options(), w.store, "trip", []byte(`"south"`))
	if err != nil {
		t.Fatal(err)
	}
	if row := w.row(t, runID); row.Status != runqueue.Queued || !row.Detached {
		t.Fatalf("row %+v", row)
	}
	return runID
}

// hosted runs a host until stop.
func (w *world) hosted(t *testing.T, change func(*host.Options)) (stop func()) {
	t.Helper()
	o := w.options()
	if change != nil {
		change(&o)
	}
	h, err := host.New(t.Context(), o, w.store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	done := false
	stop = func() {
		t.Helper()
		if done {
			return
		}
		done = true
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// awaitRow waits until a row is as wanted.
func (w *world) awaitRow(t *testing.T, runID string, wanted func(runqueue.Row) bool) runqueue.Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	row := w.row(t, runID)
	for !wanted(row) {
		var err error
		if row, err = w.store.AwaitRun(ctx, row); err != nil {
			t.Fatalf("row %+v: %v", row, err)
		}
	}
	return row
}

func final(r runqueue.Row) bool { return r.Status.Final() }

func TestAQueuedRunIsRunByAHost(t *testing.T) {
	t.Parallel()
	way := newTrip().stay()
	w := travel(t, t.TempDir(), way)
	runID := w.queued(t)
	if way.mustHaveRun(t); exists(w.dir(runID)) {
		t.Error("it began without a host")
	}
	w.once(t)
	w.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
	next, err := host.QueueAnswer(t.Context(), w.options(), w.store, runID, []byte(`"north"`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.answer(t, runID, `"again"`)
	wantError[*runqueue.ContinuedError](t, err)
	w.once(t)
	w.mustBe(t, next, runqueue.Done, runbundle.Completed)
	if output := string(w.bundle(t, next).State.FinalOutput); output != `"north"` {
		t.Errorf("output %s", output)
	}
	way.mustHaveRun(t, "pack", "wander", "arrive")
}

func TestARunIsNotQueuedInVain(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip())
	_, err := host.QueueWorkflow(t.Context(), w.options(), w.store, "trip", []byte(`"refused"`))
	wantError[*engine.InputError](t, err)
	_, err = host.QueueAnswer(t.Context(), w.options(), w.store, "never", []byte(`1`))
	wantError[*runqueue.NotFoundError](t, err)
	if rows, err := w.store.Runs(t.Context(), runqueue.Query{}); err != nil || len(rows) != 0 {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

// Weakness: a long run blocks all others. Weakness: stopping a host fails what it
// runs.
func TestAHostRunsSeveralAndParksThemWhenItStops(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w := travel(t, dir, way)
	runs := []string{w.queued(t), w.queued(t), w.queued(t)}
	stop := w.hosted(t, func(o *host.Options) { o.DetachedRuns = 2 })
	began := map[string]bool{await(t, way.wandering): true, await(t, way.wandering): true}
	if row := w.row(t, runs[2]); row.Status != runqueue.Queued || began[runs[2]] {
		t.Errorf("the third began beside two: %+v", row)
	}
	stop()
	for _, runID := range runs[:2] {
		w.mustBe(t, runID, runqueue.Parked, runbundle.Running)
		if row := w.row(t, runID); row.Error != "" || !row.Detached {
			t.Errorf("row %+v", row)
		}
	}
	again := newTrip().stay()
	other := travel(t, dir, again)
	other.once(t)
	for _, runID := range runs {
		other.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
	}
	if ran := strings.Join(again.nodes(), " "); strings.Count(ran, "pack") != 1 || strings.Count(ran, "wander") != 3 {
		t.Errorf("nodes %s: those that had packed should not do so again", ran)
	}
}

func TestARunIsControlledFromAnotherProcess(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w, other := travel(t, dir, way), travel(t, dir, way)
	runID := w.queued(t)
	told, paused := newHeld(), make(chan struct{}, 1)
	stop := w.hosted(t, told.options(paused))
	await(t, way.wandering)
	if row, err := host.PauseRun(t.Context(), other.options(), other.store, runID); err != nil || !row.Paused || row.Holder == "" {
		t.Fatalf("PauseRun = %+v, %v", row, err)
	}
	await(t, (<-chan struct{})(told))
	close(way.home)
	await(t, paused)
	row := other.row(t, runID)
	if status := host.RunStatus(row, other.bundle(t, runID).Summary()); status != host.StatusPaused {
		t.Errorf("it is %s", status)
	}
	stop()
	w.hosted(t, nil)
	if row := other.row(t, runID); row.Status != runqueue.Parked || !row.Paused {
		t.Errorf("a paused run was taken up: %+v", row)
	}
	if row, found, err := host.UnpauseRun(t.Context(), other.options(), other.store, runID, false); err != nil || !found || row.Paused {
		t.Fatalf("UnpauseRun = %+v, %t, %v", row, found, err)
	}
	other.awaitRow(t, runID, final)
	other.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
}

// holding hears when a run has been told to hold.
type holding chan struct{}

func newHeld() holding { return make(holding, 16) }

func (c holding) options(paused chan<- struct{}) func(*host.Options) {
	return func(o *host.Options) {
		o.Logger = slog.New(slog.NewTextHandler(c, nil))
		o.Observe = func(e host.RunEvent) {
			if e.Event.Type == runbundle.EventRunPaused {
				paused <- struct{}{}
			}
		}
	}
}

func (c holding) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("is to hold")) {
		c <- struct{}{}
	}
	return len(line), nil
}

func TestAPausedRunGoesOnInItsProcess(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w, other := travel(t, dir, way), travel(t, dir, way)
	o := w.options()
	told, paused := newHeld(), make(chan struct{}, 1)
	told.options(paused)(&o)
	ended := goes(func() (engine.Result, error) {
		return host.RunWorkflow(t.Context(), o, w.store, "trip", []byte(`"south"`))
	})
	runID := await(t, way.wandering)
	_, _, err := host.UnpauseRun(t.Context(), other.options(), other.store, runID, false)
	wantError[*runqueue.HeldError](t, err)
	if _, err := host.PauseRun(t.Context(), other.options(), other.store, runID); err != nil {
		t.Fatal(err)
	}
	await(t, (<-chan struct{})(told))
	close(way.home)
	await(t, paused)
	if _, found, err := host.UnpauseRun(t.Context(), other.options(), other.store, runID, false); err != nil || !found {
		t.Fatalf("UnpauseRun = %t, %v", found, err)
	}
	if end := await(t, ended); end.err != nil || end.result.Status != runbundle.Waiting {
		t.Errorf("RunWorkflow = %+v, %v", end.result, end.err)
	}
	_, err = host.PauseRun(t.Context(), other.options(), other.store, runID)
	wantError[*host.NotRunningError](t, err)
}

func TestAHostCancelsWhatItRunsAndWhatItDoesNot(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w, other := travel(t, dir, way), travel(t, dir, way)
	waits := w.queued(t)
	other.mustCancel(t, waits, "queued")
	runID := w.queued(t)
	w.hosted(t, nil)
	await(t, way.wandering)
	other.mustCancel(t, runID, "running")
	other.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
	if cleaned := way.cleanedUp(); len(cleaned) != 1 {
		t.Errorf("cleaned up %v", cleaned)
	}
}

// Weakness: runs whose definition changed are skipped until the host restarts, and
// nobody says why.
func TestARunOfAnotherDefinitionIsExplainedAndStays(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w := travel(t, dir, way)
	began, waits := w.queued(t), w.queued(t)
	stop := w.hosted(t, func(o *host.Options) { o.DetachedRuns = 1 })
	await(t, way.wandering)
	stop()

	changed := newTrip().stay()
	changed.revision = "2"
	other := travel(t, dir, changed)
	other.once(t)
	changed.mustHaveRun(t)
	for _, runID := range []string{began, waits} {
		row := other.row(t, runID)
		if row.Status != runqueue.Parked || !row.Detached || !strings.Contains(row.Error, "trip") {
			t.Errorf("row %+v, want it parked, with what to do", row)
		}
	}
	back := newTrip().stay()
	travel(t, dir, back).once(t)
	w.mustBe(t, began, runqueue.Done, runbundle.Waiting)
	w.mustBe(t, waits, runqueue.Done, runbundle.Waiting)
}

// Weakness: a run without a bundle is closed as failed though it could begin.
func TestARunThatNeverBeganBegins(t *testing.T) {
	t.Parallel()
	way := newTrip().stay()
	w := travel(t, t.TempDir(), way)
	runID := w.queued(t)
	result, err := w.resume(t, runID) // here, and not in a host
	if err != nil || result.Status != runbundle.Waiting {
		t.Fatalf("ResumeRun = %+v, %v", result, err)
	}
	if row := w.row(t, runID); row.Detached || row.Root == "" {
		t.Errorf("row %+v", row)
	}
	way.mustHaveRun(t, "pack", "wander")
}

// A row whose bundle is in another folder of runs is not for this host: its owner
// died, so it says so; what waits there stays.
func TestARunElsewhereIsExplained(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	w.catalog = compileAll(t, work.definition(), newTrip().stay().definition())
	w.put(t, "child", "quick")
	m, err := controller.NewManager(controller.ManagerOptions{
		Store: w.store, Definitions: []*controller.Definition{controller.Define("job", jobs{})}, Scheduler: oldScheduler{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ran, err := m.RunOnce(t.Context()); !ran || err != nil {
		t.Fatalf("RunOnce = %v, %v", ran, err)
	}
	running, parked := w.queued(t), w.queued(t)
	w.dieElsewhere(t)

	w.once(t)
	if row := w.row(t, running); row.Status != runqueue.Parked || !strings.HasPrefix(row.Error, "bundle_unreachable") {
		t.Errorf("row %+v", row)
	}
	if row := w.row(t, parked); row.Status != runqueue.Parked || row.Error != "" {
		t.Errorf("a run that was parked elsewhere: %+v", row)
	}
	_, err = w.resume(t, parked)
	wantError[*host.NotRecordedError](t, err)
	if ready, status := w.job(t, "child"); ready.Status != controller.True || status.Attempts != 2 {
		t.Errorf("%+v %+v, want a second attempt here", ready, status)
	}
	w.mustCancel(t, running, "parked")
}

// dieElsewhere is a host with another folder of runs that runs one detached run and
// a child, parks another run, and dies.
func (w *world) dieElsewhere(t *testing.T) {
	t.Helper()
	dying, err := host.OpenStore(t.Context(), w.paths, w.clock, w.options().Logger)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(detached bool) *runqueue.Claim {
		t.Helper()
		c, err := dying.ClaimRun(t.Context(), runqueue.ClaimQuery{Detached: detached, Root: "elsewhere"}, patience)
		if err != nil || c == nil {
			t.Fatalf("ClaimRun = %v, %v", c, err)
		}
		return c
	}
	claim(true)
	err = dying.ParkRun(t.Context(), claim(true), "")
	err = errors.Join(err, dying.StartChild(t.Context(), claim(false)), dying.Desert())
	if err != nil {
		t.Fatal(err)
	}
}
