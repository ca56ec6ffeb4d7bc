package host_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func TestAParkedRunGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	runID := travel(t, dir, way).parked(t, way)
	way.mustHaveRun(t, "pack", "wander")

	again := newTrip().stay()
	w := travel(t, dir, again)
	result, err := w.resume(t, runID)
	if err != nil || result.Status != runbundle.Waiting || result.WaitingOn != "ask" {
		t.Fatalf("ResumeRun = %+v, %v", result, err)
	}
	again.mustHaveRun(t, "wander")
	w.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
}

func TestARunWhoseProcessWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runID := killProcess(t, travellerEnv+"="+dir)
	way := newTrip().stay()
	w := travel(t, dir, way)
	row := w.row(t, runID)
	if status := host.RunStatus(row, w.bundle(t, runID).Summary()); status != host.StatusInterrupted || !row.Interrupted() {
		t.Errorf("the run is %s, its row %+v", status, row)
	}
	result, err := w.resume(t, runID)
	if err != nil || result.Status != runbundle.Waiting {
		t.Fatalf("ResumeRun = %+v, %v", result, err)
	}
	way.mustHaveRun(t, "wander")
	w.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
	if steps := len(w.bundle(t, runID).State.Steps); steps != 3 {
		t.Errorf("%d steps are recorded, want 3", steps)
	}
}

// Two stores stand for two processes: one goes on with the run, the other hears
// who does.
func TestOneOfManyResumesARun(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	first := travel(t, dir, way)
	runID := first.parked(t, way)
	second := travel(t, dir, way)
	ends := make(chan outcome, 4)
	for _, w := range []*world{first, second, first, second} {
		go func() {
			result, err := w.resume(t, runID)
			ends <- outcome{result, err}
		}()
	}
	await(t, way.wandering)
	for range 3 { // the fourth wanders
		end := await(t, ends)
		if held := wantError[*runqueue.HeldError](t, end.err); held.Holder == "" {
			t.Errorf("nobody is named: %v", held)
		}
	}
	close(way.home)
	if end := await(t, ends); end.err != nil || end.result.Status != runbundle.Waiting {
		t.Errorf("ResumeRun = %+v, %v", end.result, end.err)
	}
}

func TestARunThatCannotBeRecordedIsParked(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w := travel(t, dir, way)
	lost := &lease.LostError{What: "run", Reason: lease.Taken}
	began := false
	fail := times(1, "CheckRun", lost)
	s := w.failing(func(op string) error {
		if !began {
			return nil
		}
		return fail(op)
	})
	ended := goes(func() (engine.Result, error) {
		return host.RunWorkflow(t.Context(), w.options(), s, "trip", []byte(`"south"`))
	})
	runID := await(t, way.wandering)
	s.mu.Lock()
	began = true
	s.mu.Unlock()
	close(way.home)
	if end := await(t, ended); !errors.Is(end.err, lease.ErrLost) {
		t.Fatalf("RunWorkflow = %+v, %v", end.result, end.err)
	}
	w.mustBe(t, runID, runqueue.Parked, runbundle.Running)
	if row := w.row(t, runID); row.Error == "" {
		t.Error("the row does not tell why the run is parked")
	}
	if result, err := w.resume(t, runID); err != nil || result.Status != runbundle.Waiting {
		t.Errorf("ResumeRun = %+v, %v", result, err)
	}
}

func TestACanceledContextCancelsAResumedRun(t *testing.T) {
	t.Parallel()
	way := newTrip()
	w := travel(t, t.TempDir(), way)
	runID := w.parked(t, way)
	ctx, cancel := context.WithCancel(t.Context())
	ended := goes(func() (engine.Result, error) {
		return host.ResumeRun(ctx, w.options(), w.store, runID, host.ResumeOptions{})
	})
	await(t, way.wandering)
	cancel()
	if end := await(t, ended); end.err != nil || end.result.Status != runbundle.Cancelled {
		t.Fatalf("ResumeRun = %+v, %v", end.result, end.err)
	}
	w.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
}

// What is refused can be resumed later.
func TestARefusedResumeLeavesTheRunParked(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w := travel(t, dir, way)
	runID := w.parked(t, way)
	changed := newTrip().stay()
	changed.revision = "2"
	other := travel(t, dir, changed)
	_, err := other.resume(t, runID)
	wantError[*engine.SourceChangedError](t, err)
	other.mustBe(t, runID, runqueue.Parked, runbundle.Running)

	stranger := openWorld(t, dir, newWork())
	_, err = stranger.resume(t, runID)
	wantError[*controller.UnknownWorkflowError](t, err)

	elsewhere := travel(t, dir, changed)
	elsewhere.paths.Runs = t.TempDir()
	_, err = elsewhere.resume(t, runID)
	if missing := wantError[*host.NotRecordedError](t, err); missing.Runs != elsewhere.paths.Runs {
		t.Errorf("error %+v", missing)
	}
	w.mustBe(t, runID, runqueue.Parked, runbundle.Running)

	result, err := host.ResumeRun(t.Context(), other.options(), other.store, runID, host.ResumeOptions{Force: true})
	if err != nil || result.Status != runbundle.Waiting {
		t.Errorf("forced: %+v, %v", result, err)
	}
}

func TestAnEndedRunIsNotResumed(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	runID := w.waiting(t)
	_, err := w.resume(t, runID)
	if ended := wantError[*runbundle.EndedError](t, err); ended.Status != runbundle.Waiting {
		t.Errorf("error %+v", ended)
	}
	if err := os.RemoveAll(w.dir(runID)); err != nil {
		t.Fatal(err)
	}
	_, err = w.resume(t, runID)
	wantError[*runqueue.EndedError](t, err)
	_, err = w.resume(t, "never")
	wantError[*runqueue.NotFoundError](t, err)
}

// ended makes a run whose owner died between the end of the bundle and that of
// the row.
func (w *world) ended(t *testing.T) (runID string) {
	t.Helper()
	s := w.failing(times(1, "AwaitAnswer", &lease.LostError{What: "run", Reason: lease.Taken}))
	result, err := host.RunWorkflow(t.Context(), w.options(), s, "trip", []byte(`"south"`))
	if !errors.Is(err, lease.ErrLost) || result.Status != runbundle.Waiting {
		t.Fatalf("RunWorkflow = %+v, %v", result, err)
	}
	catalog := w.catalog
	w.reopen(t, newWork())
	w.catalog = catalog
	if row := w.row(t, result.RunID); !row.Interrupted() {
		t.Fatalf("row %+v", row)
	}
	return result.RunID
}

func TestTheRowOfARunThatEndedIsSettledByResume(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	runID := w.ended(t)
	_, err := w.resume(t, runID)
	wantError[*runbundle.EndedError](t, err)
	w.mustBe(t, runID, runqueue.Done, runbundle.Waiting)
}

func TestAChildRunBelongsToItsController(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "quick")
	w.once(t)
	children, err := w.store.Children(t.Context(), job("a"))
	if err != nil || len(children) != 1 {
		t.Fatalf("children: %+v, %v", children, err)
	}
	runID := children[0].RunID
	_, resumed := w.resume(t, runID)
	_, answered := w.answer(t, runID, `1`)
	wantError[*engine.NotWaitingError](t, answered) // a question of it is for people
	_, canceled := w.cancel(t, runID)
	_, paused := host.PauseRun(t.Context(), w.options(), w.store, runID)
	for _, err := range []error{resumed, canceled, paused} {
		if child := wantError[*runqueue.ChildRunError](t, err); child.RunID != runID {
			t.Errorf("error %+v", child)
		}
	}
}
