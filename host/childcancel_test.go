package host_test

import (
	"context"
	"testing"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// goneAfter waits until a resource is gone.
func (w *world) goneAfter(t *testing.T, from controller.Cursor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		changes, err := w.store.Changes(ctx, from, controller.ChangeFilter{Controller: "job", Key: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range changes.Events {
			if e.Type == controller.EventDeleted {
				return
			}
		}
		from = changes.Next
	}
}

// deletion asks for the deletion of job/a and returns where its events begin.
func (w *world) deletion(t *testing.T) (controller.DeletionResult, controller.Cursor) {
	t.Helper()
	from, err := w.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done, err := w.store.RequestDeletion(t.Context(), controller.Deletion{Ref: job("a"), Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	return done, from
}

func TestADeletionCancelsTheRunningChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work := newWork()
	w, elsewhere := openWorld(t, dir, work), openWorld(t, dir, work)
	w.put(t, "a", "hang")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h := w.host(t)
	go func() { ended <- h.Run(ctx) }()
	runID := await(t, work.started)
	done, from := elsewhere.deletion(t) // from another process
	if done.Deleted {
		t.Error("the deletion did not wait for the run")
	}
	w.goneAfter(t, from)
	stop()
	if err := await(t, ended); err != nil {
		t.Fatal(err)
	}
	w.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
}

func TestADeletionCancelsTheContinuationOfAChild(t *testing.T) {
	t.Parallel()
	way := newTrip().stay()
	w := guide(t, t.TempDir(), way)
	parent := w.asks(t)
	lost := newTrip() // wanders until it is told to stop
	w.catalog = compileAll(t, wanderAfter(lost))
	ended := goes(func() (engine.Result, error) {
		return host.AnswerRun(t.Context(), w.options(), w.store, parent, []byte(`1`), host.ResumeOptions{Force: true})
	})
	runID := await(t, lost.wandering)
	_, from := w.deletion(t)
	w.goneAfter(t, from)
	if end := await(t, ended); end.err != nil || end.result.Status != runbundle.Cancelled {
		t.Errorf("AnswerRun = %+v, %v", end.result, end.err)
	}
	w.mustBe(t, runID, runqueue.Cancelled, runbundle.Cancelled)
}

// A run whose host died is ended by the next one, and does not begin again.
func TestADeletionEndsTheChildOfADeadHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openWorld(t, dir, newWork()).put(t, "a", "hang")
	runID := killVictim(t, dir)
	work := newWork()
	after := openWorld(t, dir, work)
	if done, _ := after.deletion(t); done.Deleted {
		t.Error("the deletion did not wait for the run")
	}
	after.once(t)
	if _, err := after.store.Get(t.Context(), job("a")); err == nil {
		t.Error("the resource is still there")
	}
	if row := after.row(t, runID); row.Status != runqueue.Cancelled {
		t.Errorf("row %+v", row)
	}
	if len(work.started) > 0 {
		t.Error("another attempt was started")
	}
}

func TestAWaitingChildOfADeletedResourceTakesNoAnswer(t *testing.T) {
	t.Parallel()
	w := guide(t, t.TempDir(), newTrip().stay())
	parent := w.asks(t)
	if done, _ := w.deletion(t); !done.Deleted {
		t.Error("a child that waits holds the deletion")
	}
	_, err := w.answer(t, parent, `1`)
	if not := wantError[*runqueue.NotWaitingError](t, err); not.Status != string(runqueue.Cancelled) {
		t.Errorf("error %+v", not)
	}
}
