package host_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func TestAnInteractiveRunIsARowLikeEveryOther(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		status runbundle.Status
		row    runqueue.Status
	}{
		"quick": {runbundle.Completed, runqueue.Done},
		"fail":  {runbundle.Failed, runqueue.Failed},
	} {
		w := newWorld(t, newWork())
		result, err := host.RunWorkflow(t.Context(), w.options(), w.store, "work", []byte(`{"mode":"`+mode+`"}`))
		if err != nil || result.Status != want.status {
			t.Errorf("%s: %+v, %v", mode, result, err)
		}
		row, err := w.store.Run(t.Context(), result.RunID)
		if err != nil || row.Status != want.row || row.ChildOf != "" {
			t.Errorf("%s: row %+v, %v", mode, row, err)
		}
	}
}

func TestRefusedInputWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	_, err := host.RunWorkflow(t.Context(), w.options(), w.store, "work", []byte(`{}`))
	if _, ok := errors.AsType[*engine.InputError](err); !ok {
		t.Fatalf("RunWorkflow = %v, want an *InputError", err)
	}
	if rows, err := w.store.Runs(t.Context(), runqueue.Query{}); err != nil || len(rows) != 0 {
		t.Errorf("rows: %v, %v", rows, err)
	}
	if entries, err := os.ReadDir(w.paths.Runs); err == nil && len(entries) != 0 {
		t.Errorf("bundles: %v", entries)
	}
}

func TestAnEndedContextCancelsTheRun(t *testing.T) {
	t.Parallel()
	work := newWork()
	w := newWorld(t, work)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-work.started
		cancel()
	}()
	result, err := host.RunWorkflow(ctx, w.options(), w.store, "work", []byte(`{"mode":"hang"}`))
	if err != nil || result.Status != runbundle.Cancelled {
		t.Fatalf("RunWorkflow = %+v, %v", result, err)
	}
	if row, err := w.store.Run(t.Context(), result.RunID); err != nil || row.Status != runqueue.Cancelled {
		t.Errorf("row %+v, %v", row, err)
	}
}

// The row tells what the record cannot: it must not be running for ever.
func TestTheRowOfAnInteractiveRunEnds(t *testing.T) {
	t.Parallel()
	lost := &lease.LostError{What: "run", Reason: lease.Taken}
	for name, test := range map[string]struct {
		op   string
		err  error
		want runqueue.Status
	}{
		"the store is busy":        {"FinishRun", errBusy, runqueue.Done},
		"the record is incomplete": {"CheckRun", lost, runqueue.Parked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := newWork()
			w := newWorld(t, work)
			var runID string
			fail := times(1, test.op, test.err)
			s := w.failing(func(op string) error {
				if runID == "" { // it has not started
					return nil
				}
				return fail(op)
			})
			go func() {
				id := <-work.started
				s.mu.Lock()
				defer s.mu.Unlock()
				runID = id
				close(work.release)
			}()
			result, err := host.RunWorkflow(t.Context(), w.options(), s, "work", []byte(`{"mode":"hang"}`))
			if (err != nil) != errors.Is(test.err, lease.ErrLost) {
				t.Errorf("RunWorkflow = %+v, %v", result, err)
			}
			if row, err := w.store.Run(t.Context(), runID); err != nil || row.Status != test.want {
				t.Errorf("row %+v, %v", row, err)
			}
		})
	}
}
