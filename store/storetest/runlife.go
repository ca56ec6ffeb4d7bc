package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

var lifeTests = []test{
	{"a parked run keeps its input and can be adopted", lifeParked},
	{"an interrupted run can be adopted once its lease is over", lifeInterrupted},
	{"a run in somebody's hands cannot be adopted", lifeHeld},
	{"an ended run cannot be adopted", lifeEnded},
	{"a run has one continuation", lifeContinued},
	{"only a run that is done is continued", lifeNotDone},
	{"a continuation that never began frees its parent", lifeAbandoned},
	{"a withdrawn run cannot be continued", lifeWithdrawn},
	{"a crowd adopts a run once", lifeCrowdAdopts},
	{"a crowd continues a run once", lifeCrowdContinues},
}

func (k *kit) adopt(runID string) *runqueue.Claim {
	k.Helper()
	c, err := k.Runs.AdoptRun(k.Context(), runID, "", lasts)
	k.must(err)
	return c
}

func (k *kit) finishRun(c *runqueue.Claim, status runqueue.Status) {
	k.Helper()
	k.must(k.Runs.FinishRun(k.Context(), c, status, ""))
}

// continuation launches the answer to a run.
func (k *kit) continuation(runID, parent string) (*runqueue.Claim, error) {
	r := newRun(runID)
	r.ContinuationOf = parent
	return k.Runs.Launch(k.Context(), r, lasts)
}

// waits launches run-1 and ends its row, as a run that waits does.
func (k *kit) waits() {
	k.Helper()
	k.finishRun(k.launch("run-1"), runqueue.Done)
}

func lifeParked(k *kit) {
	first := k.launch("run-1")
	k.must(k.Runs.ParkRun(k.Context(), first, "the disk is full"))
	row := k.run("run-1")
	equal(k, "status", row.Status, runqueue.Parked)
	equal(k, "error", row.Error, "the disk is full")
	equal(k, "input", string(row.Input), `{"n":1}`)
	equal(k, "holder", row.Holder, "")
	equal(k, "row interrupted", row.Interrupted(), false)
	k.wantLost(k.Runs.CheckRun(k.Context(), first), lease.Released)

	c := k.adopt("run-1")
	equal(k, "interrupted", c.Interrupted, false)
	equal(k, "row", c.Row, k.run("run-1"))
	equal(k, "status", c.Row.Status, runqueue.Running)
	equal(k, "error", c.Row.Error, "")
	if c.Fence <= first.Fence || c.Token == first.Token || c.Row.Holder == "" {
		k.Errorf("claim %+v after %+v", c, first)
	}
	k.must(k.Runs.CheckRun(k.Context(), c))
	k.wantLost(k.Runs.ParkRun(k.Context(), first, ""), lease.Taken)
}

func lifeInterrupted(k *kit) {
	first := k.launch("run-1")
	k.Advance(lasts)
	equal(k, "row interrupted", k.run("run-1").Interrupted(), true)
	c := k.peer("").adopt("run-1")
	equal(k, "interrupted", c.Interrupted, true)
	k.wantLost(k.Runs.CheckRun(k.Context(), first), lease.Taken)
	k.wantLost(k.Runs.FinishRun(k.Context(), first, runqueue.Done, ""), lease.Taken)
	equal(k, "row interrupted", k.run("run-1").Interrupted(), false)
}

func lifeHeld(k *kit) {
	c := k.launch("run-1")
	k.Advance(lasts - time.Millisecond)
	for _, who := range []*kit{k, k.peer("")} {
		_, err := who.Runs.AdoptRun(k.Context(), "run-1", "", lasts)
		equal(k, "error", *wantError[*runqueue.HeldError](k, err), runqueue.HeldError{RunID: "run-1", Holder: c.Row.Holder})
	}
	k.must(k.Runs.CheckRun(k.Context(), c))
	other := k.peer("another project")
	_, err := other.Runs.AdoptRun(k.Context(), "run-1", "", lasts)
	wantKind[*runqueue.NotFoundError](k, err)
}

func lifeEnded(k *kit) {
	for _, status := range []runqueue.Status{runqueue.Done, runqueue.Failed, runqueue.Cancelled} {
		runID := "run-" + string(status)
		k.finishRun(k.launch(runID), status)
		before := k.run(runID)
		_, err := k.Runs.AdoptRun(k.Context(), runID, "", lasts)
		equal(k, "error", *wantError[*runqueue.EndedError](k, err), runqueue.EndedError{RunID: runID, Status: string(status)})
		equal(k, "row", k.run(runID), before)
	}
	_, err := k.Runs.AdoptRun(k.Context(), "never", "", lasts)
	wantKind[*runqueue.NotFoundError](k, err)
}

func lifeContinued(k *kit) {
	k.waits()
	c, err := k.continuation("run-2", "run-1")
	k.must(err)
	equal(k, "parent", c.Row.ContinuationOf, "run-1")
	equal(k, "continuation", k.run("run-1").ContinuedBy, "run-2")
	equal(k, "row", c.Row, k.run("run-2"))
	refused := func() {
		k.Helper()
		_, err := k.continuation("run-3", "run-1")
		want := runqueue.ContinuedError{RunID: "run-1", ContinuedBy: "run-2"}
		equal(k, "error", *wantError[*runqueue.ContinuedError](k, err), want)
		equal(k, "error", *wantError[*runqueue.ContinuedError](k, k.Runs.WithdrawRun(k.Context(), "run-1", "")), want)
		_, err = k.Runs.Run(k.Context(), "run-3")
		wantKind[*runqueue.NotFoundError](k, err)
	}
	refused()
	k.finishRun(c, runqueue.Done) // however it ended, the answer was used
	refused()
	_, err = k.continuation("run-3", "run-2")
	k.must(err)
	equal(k, "continuation", k.run("run-2").ContinuedBy, "run-3")
}

func lifeNotDone(k *kit) {
	for status, end := range map[runqueue.Status]func(c *runqueue.Claim){
		runqueue.Running:   func(*runqueue.Claim) {},
		runqueue.Parked:    func(c *runqueue.Claim) { k.must(k.Runs.ParkRun(k.Context(), c, "")) },
		runqueue.Failed:    func(c *runqueue.Claim) { k.finishRun(c, runqueue.Failed) },
		runqueue.Cancelled: func(c *runqueue.Claim) { k.finishRun(c, runqueue.Cancelled) },
	} {
		runID := "run-" + string(status)
		end(k.launch(runID))
		before := k.run(runID)
		_, continued := k.continuation("other-"+runID, runID)
		for _, err := range []error{continued, k.Runs.WithdrawRun(k.Context(), runID, "")} {
			want := runqueue.NotWaitingError{RunID: runID, Status: string(status)}
			equal(k, "error", *wantError[*runqueue.NotWaitingError](k, err), want)
		}
		equal(k, "row", k.run(runID), before)
	}
	_, continued := k.continuation("run-1", "never")
	for _, err := range []error{continued, k.Runs.WithdrawRun(k.Context(), "never", "")} {
		wantKind[*runqueue.NotFoundError](k, err)
	}
	k.waits()
	other := k.peer("another project")
	_, err := other.continuation("run-2", "run-1")
	wantKind[*runqueue.NotFoundError](k, err)
}

func lifeAbandoned(k *kit) {
	k.waits()
	for i, status := range []runqueue.Status{runqueue.Failed, runqueue.Cancelled} {
		runID := fmt.Sprint("next-", i)
		c, err := k.continuation(runID, "run-1")
		k.must(err)
		k.must(k.Runs.AbandonRun(k.Context(), c, status, "no bundle"))
		row := k.run(runID)
		equal(k, "status", row.Status, status)
		equal(k, "error", row.Error, "no bundle")
		equal(k, "parent", row.ContinuationOf, "")
		equal(k, "continuation", k.run("run-1").ContinuedBy, "")
		k.wantLost(k.Runs.AbandonRun(k.Context(), c, status, ""), lease.Released)
	}
	_, err := k.continuation("run-2", "run-1")
	k.must(err)
	equal(k, "continuation", k.run("run-1").ContinuedBy, "run-2")
}

func lifeWithdrawn(k *kit) {
	k.waits()
	k.Advance(time.Second)
	k.must(k.Runs.WithdrawRun(k.Context(), "run-1", "nobody wants it"))
	row := k.run("run-1")
	equal(k, "status", row.Status, runqueue.Cancelled)
	equal(k, "error", row.Error, "nobody wants it")
	equal(k, "updated", row.UpdatedAt, row.CreatedAt.Add(time.Second))
	_, err := k.continuation("run-2", "run-1")
	for _, err := range []error{err, k.Runs.WithdrawRun(k.Context(), "run-1", "")} {
		equal(k, "status", wantError[*runqueue.NotWaitingError](k, err).Status, "cancelled")
	}
}

func lifeCrowdAdopts(k *kit) {
	k.must(k.Runs.ParkRun(k.Context(), k.launch("run-1"), ""))
	var winners atomic.Int32
	crowd(k, func(w *kit) {
		_, err := w.Runs.AdoptRun(w.Context(), "run-1", "", lasts)
		if held := (*runqueue.HeldError)(nil); err != nil && !errors.As(err, &held) {
			w.Errorf("adopt: %v, want a HeldError", err)
		}
		if err == nil {
			winners.Add(1)
		}
	})
	equal(k, "winners", winners.Load(), 1)
}

func lifeCrowdContinues(k *kit) {
	k.waits()
	var turn, winners atomic.Int32
	crowd(k, func(w *kit) {
		_, err := w.continuation(fmt.Sprint("next-", turn.Add(1)), "run-1")
		if continued := (*runqueue.ContinuedError)(nil); err != nil && !errors.As(err, &continued) {
			w.Errorf("continue: %v, want a ContinuedError", err)
		}
		if err == nil {
			winners.Add(1)
		}
	})
	equal(k, "winners", winners.Load(), 1)
	rows, err := k.Runs.Runs(k.Context(), runqueue.Query{})
	k.must(err)
	equal(k, "rows", len(rows), 2)
}
