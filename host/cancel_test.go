package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func (w *world) mustCancel(t *testing.T, runID, want string) {
	t.Helper()
	if was, err := w.cancel(t, runID); err != nil || was != want {
		t.Fatalf("CancelRun = %s, %v; want %s", was, err, want)
	}
}

func TestARunThatNobodyRunsIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	interrupted := killProcess(t, travellerEnv+"="+dir)
	way := newTrip()
	w := travel(t, dir, way)
	parked := w.parked(t, way)
	w.mustCancel(t, interrupted, host.StatusInterrupted)
	w.mustCancel(t, parked, "parked")
	for _, runID := range []string{interrupted, parked} {
		w.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
	}
	way.mustHaveRun(t, "pack", "wander")
	if got := way.cleanedUp(); !slices.Equal(got, []string{interrupted, parked}) {
		t.Errorf("cleaned up behind %v", got)
	}
	_, err := w.cancel(t, parked)
	if ended := wantError[*runqueue.EndedError](t, err); ended.Status != "cancelled" {
		t.Errorf("error %+v", ended)
	}
}

// The bundle of a waiting run is final; what is cancelled is the answer.
func TestACancelledQuestionCannotBeAnswered(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	runID := w.waiting(t)
	w.mustCancel(t, runID, "waiting")
	w.mustBe(t, runID, runqueue.Cancelled, runbundle.Waiting)
	if status := host.RunStatus(w.row(t, runID), w.bundle(t, runID).Summary()); status != "cancelled" {
		t.Errorf("the run is %s", status)
	}
	_, err := w.answer(t, runID, `1`)
	wantError[*runqueue.NotWaitingError](t, err)
	_, err = w.cancel(t, runID)
	wantError[*runqueue.EndedError](t, err)

	answered := w.waiting(t)
	if _, err := w.answer(t, answered, `1`); err != nil {
		t.Fatal(err)
	}
	_, err = w.cancel(t, answered)
	wantError[*runqueue.ContinuedError](t, err)

	w.mustCancel(t, w.ended(t), "waiting") // its row did not say so
}

func TestARunInAProcessIsCancelledFromAnother(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	w, other := travel(t, dir, way), travel(t, dir, way)
	ended := goes(func() (engine.Result, error) {
		return host.RunWorkflow(t.Context(), w.options(), w.store, "trip", []byte(`"south"`))
	})
	runID := await(t, way.wandering)
	_, err := other.answer(t, runID, `1`)
	wantError[*engine.NotWaitingError](t, err)
	if was, err := other.cancel(t, runID); err != nil || was != "running" {
		t.Errorf("CancelRun = %s, %v", was, err)
	}
	if end := await(t, ended); end.err != nil || end.result.Status != runbundle.Cancelled {
		t.Errorf("RunWorkflow = %+v, %v", end.result, end.err)
	}
	w.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
}

func TestARunIsCancelledWithoutItsDefinition(t *testing.T) {
	t.Parallel()
	way, dir := newTrip(), t.TempDir()
	runID := travel(t, dir, way).parked(t, way)
	stranger := openWorld(t, dir, newWork())
	stranger.mustCancel(t, runID, "parked")
	stranger.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
	if state := stranger.bundle(t, runID).State; state.ErrorCode != engine.CodeCancelled || state.Error == "" {
		t.Errorf("state %+v", state)
	}
}

func TestARunWithABrokenRecordIsCancelled(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file string) error{
		"nonsense": func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
		"missing":  os.Remove,
	} {
		way := newTrip()
		w := travel(t, t.TempDir(), way)
		runID := w.parked(t, way)
		if err := damage(filepath.Join(w.dir(runID), "state.json")); err != nil {
			t.Fatal(err)
		}
		_, err := w.resume(t, runID)
		wantError[*runbundle.CorruptError](t, err)
		w.mustCancel(t, runID, "parked")
		if row := w.row(t, runID); row.Status != runqueue.Cancelled {
			t.Errorf("%s: row %+v", name, row)
		}
	}
}

func TestCancellingAContinuationThatNeverBeganFreesItsParent(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	parent := w.waiting(t)
	w.launched(t, "unborn", parent)
	w.mustCancel(t, "unborn", host.StatusInterrupted)
	if row := w.row(t, parent); row.ContinuedBy != "" {
		t.Errorf("row %+v", row)
	}

	w.launched(t, "elsewhere", parent)
	elsewhere := *w
	elsewhere.paths.Runs = t.TempDir()
	elsewhere.mustCancel(t, "elsewhere", host.StatusInterrupted)
	if row := w.row(t, parent); row.ContinuedBy != "elsewhere" {
		t.Errorf("row %+v", row)
	}
}

func TestPauseSaysWhereARunStands(t *testing.T) {
	t.Parallel()
	way := newTrip()
	w := travel(t, t.TempDir(), way)
	runID := w.parked(t, way)
	_, err := host.PauseRun(t.Context(), w.options(), w.store, runID)
	if not := wantError[*host.NotRunningError](t, err); not.Status != "parked" {
		t.Errorf("error %+v", not)
	}
	_, err = host.PauseRun(t.Context(), w.options(), w.store, "never")
	wantError[*runqueue.NotFoundError](t, err)
}
