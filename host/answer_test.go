package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func TestAnAnswerStartsTheContinuation(t *testing.T) {
	t.Parallel()
	way := newTrip().stay()
	w := travel(t, t.TempDir(), way)
	parent := w.waiting(t)
	before := w.bundle(t, parent)
	result, err := w.answer(t, parent, `"north"`)
	if err != nil || result.Status != runbundle.Completed || string(result.FinalOutput) != `"north"` {
		t.Fatalf("AnswerRun = %+v, %v", result, err)
	}
	way.mustHaveRun(t, "pack", "wander", "arrive")
	w.mustBe(t, result.RunID, runqueue.Done, runbundle.Completed)
	if row := w.row(t, result.RunID); row.ContinuationOf != parent || row.ChildOf != "" {
		t.Errorf("row %+v", row)
	}
	after := w.bundle(t, parent)
	if after.State.TraceSeq != before.State.TraceSeq || after.State.Status != runbundle.Waiting {
		t.Errorf("the bundle of the parent changed: %+v", after.State)
	}
	if status := host.RunStatus(w.row(t, parent), after.Summary()); status != host.StatusAnswered {
		t.Errorf("the parent is %s, want %s", status, host.StatusAnswered)
	}

	_, answered := w.answer(t, parent, `"refused"`) // that it was answered counts first
	_, resumed := w.resume(t, parent)
	for _, err := range []error{answered, resumed} {
		if taken := wantError[*runqueue.ContinuedError](t, err); *taken != (runqueue.ContinuedError{RunID: parent, ContinuedBy: result.RunID}) {
			t.Errorf("error %+v", taken)
		}
	}
}

func TestOneOfManyAnswersCounts(t *testing.T) {
	t.Parallel()
	way, dir := newTrip().stay(), t.TempDir()
	first, second := travel(t, dir, way), travel(t, dir, way)
	parent := first.waiting(t)
	var ends []<-chan outcome
	for i, w := range []*world{first, second, first, second} {
		text, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, goes(func() (engine.Result, error) { return w.answer(t, parent, string(text)) }))
	}
	taken := 0
	for _, ended := range ends {
		end := await(t, ended)
		if end.err == nil {
			taken++
			continue
		}
		wantError[*runqueue.ContinuedError](t, end.err)
	}
	if taken != 1 {
		t.Errorf("%d of 4 answers were taken, want 1", taken)
	}
	if rows, err := first.store.Runs(t.Context(), runqueue.Query{}); err != nil || len(rows) != 2 {
		t.Errorf("rows: %+v, %v", rows, err)
	}
	if entries, err := os.ReadDir(first.paths.Runs); err != nil || len(entries) != 3 { // and the name of the folder
		t.Errorf("bundles: %v, %v", entries, err)
	}
}

func TestARefusedAnswerCanBeGivenAgain(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	parent := w.waiting(t)
	_, err := w.answer(t, parent, `"refused"`)
	wantError[*engine.InputError](t, err)
	if row := w.row(t, parent); row.ContinuedBy != "" {
		t.Errorf("row %+v", row)
	}

	// The bundle of the continuation cannot be made.
	lost := &lease.LostError{What: "run", Reason: lease.Taken}
	_, err = host.AnswerRun(t.Context(), w.options(), w.failing(times(1, "CheckRun", lost)), parent, []byte(`1`), host.ResumeOptions{})
	if !errors.Is(err, lease.ErrLost) {
		t.Fatalf("AnswerRun = %v, want a lost claim", err)
	}
	if row := w.row(t, parent); row.ContinuedBy != "" {
		t.Errorf("row %+v", row)
	}
	if result, err := w.answer(t, parent, `1`); err != nil || result.Status != runbundle.Completed {
		t.Errorf("AnswerRun = %+v, %v", result, err)
	}
}

// launched makes the row of a continuation whose process dies before there is a
// bundle.
func (w *world) launched(t *testing.T, runID, parent string) {
	t.Helper()
	dying, err := host.OpenStore(t.Context(), w.paths, w.clock, w.options().Logger)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dying.Launch(t.Context(), runqueue.NewRun{
		RunID: runID, Workflow: "trip", Input: []byte(`1`), ContinuationOf: parent,
	}, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAContinuationThatNeverBeganGivesWay(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	parent := w.waiting(t)
	w.launched(t, "unborn", parent)
	if err := os.Mkdir(w.dir("unborn"), 0o700); err != nil { // it was about to
		t.Fatal(err)
	}
	result, err := w.answer(t, parent, `2`)
	if err != nil || string(result.FinalOutput) != `2` {
		t.Fatalf("AnswerRun = %+v, %v", result, err)
	}
	if row := w.row(t, "unborn"); row.Status != runqueue.Failed || row.ContinuationOf != "" {
		t.Errorf("row %+v", row)
	}
	if exists(w.dir("unborn")) {
		t.Error("the unfinished bundle is left")
	}
}

// A bundle that is in another folder is no reason to answer twice.
func TestAContinuationElsewhereStays(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	parent := w.waiting(t)
	w.launched(t, "elsewhere", parent)
	w.paths.Runs = t.TempDir()
	_, err := w.answer(t, parent, `2`)
	wantError[*runqueue.ContinuedError](t, err)
}

func TestOnlyAWaitingRunIsAnswered(t *testing.T) {
	t.Parallel()
	way := newTrip()
	w := travel(t, t.TempDir(), way)
	runID := w.parked(t, way)
	_, err := w.answer(t, runID, `1`)
	if not := wantError[*runqueue.NotWaitingError](t, err); not.Status != "parked" {
		t.Errorf("error %+v", not)
	}
	w.mustBe(t, runID, runqueue.Parked, runbundle.Running)

	close(way.home)
	parent := w.waiting(t)
	result, err := w.answer(t, parent, `1`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.answer(t, result.RunID, `1`)
	wantError[*engine.NotWaitingError](t, err)
	_, err = w.answer(t, "never", `1`)
	wantError[*runqueue.NotFoundError](t, err)
}

func TestARunThatWaitsIsAnsweredAlthoughItsRowDoesNotSaySo(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	parent := w.ended(t)
	if result, err := w.answer(t, parent, `1`); err != nil || result.Status != runbundle.Completed {
		t.Errorf("AnswerRun = %+v, %v", result, err)
	}
	w.mustBe(t, parent, runqueue.Done, runbundle.Waiting)
}
