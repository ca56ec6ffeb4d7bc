package storetest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

var runTests = []test{
	{"a launched run is claimed and running", runLaunched},
	{"a run is finished once", runFinished},
	{"a run is claimed by its launcher only", runBelongs},
	{"child runs are claimed in order", runOrder},
	{"waiting for runs ends when there is one", runWait},
	{"runs are listed, the newest first", runList},
	{"runs refuse bad values", runRefuses},
}

func newRun(runID string) runqueue.NewRun {
	return runqueue.NewRun{
		RunID: runID, Workflow: "hello", Source: json.RawMessage(`{"id":"hello"}`), Digest: "d1",
		Input: json.RawMessage(`{"n": 1}`),
	}
}

func (k *kit) launch(runID string) *runqueue.Claim {
	k.Helper()
	c, err := k.Runs.Launch(k.Context(), newRun(runID), lasts)
	k.must(err)
	return c
}

func runLaunched(k *kit) {
	c := k.launch("run-1")
	want := runqueue.Row{
		RunID: "run-1", Workflow: "hello", Source: json.RawMessage(`{"id":"hello"}`), Digest: "d1",
		Input: json.RawMessage(`{"n":1}`), Status: runqueue.Running, Holder: c.Row.Holder,
		CreatedAt: c.Row.CreatedAt, UpdatedAt: c.Row.UpdatedAt,
	}
	equal(k, "row", c.Row, want)
	equal(k, "stored", k.run("run-1"), want)
	equal(k, "interrupted", c.Interrupted, false)
	equal(k, "row interrupted", c.Row.Interrupted(), false)
	if c.Token == "" || c.Fence == 0 || c.Row.Holder == "" {
		k.Errorf("claim without token, fence or holder: %+v", c)
	}
	for range 2 {
		k.Advance(lasts - time.Millisecond)
		k.must(k.Runs.CheckRun(k.Context(), c))
		k.must(k.Runs.RenewRun(k.Context(), c, lasts))
	}
	k.Advance(lasts)
	k.wantLost(k.Runs.CheckRun(k.Context(), c), lease.Expired)
	k.wantLost(k.Runs.RenewRun(k.Context(), c, lasts), lease.Expired)
	k.wantLost(k.Runs.FinishRun(k.Context(), c, runqueue.Done, ""), lease.Expired)
	if _, err := k.Runs.Launch(k.Context(), newRun("run-1"), lasts); err == nil {
		k.Error("a run ID was used twice")
	}
}

func runFinished(k *kit) {
	for _, status := range []runqueue.Status{runqueue.Done, runqueue.Failed, runqueue.Cancelled} {
		c := k.launch("run-" + string(status))
		k.Advance(time.Second)
		k.must(k.Runs.FinishRun(k.Context(), c, status, "why"))
		row := k.run(c.Row.RunID)
		equal(k, "status", row.Status, status)
		equal(k, "error", row.Error, "why")
		equal(k, "input", row.Input, nil)
		equal(k, "updated", row.UpdatedAt, row.CreatedAt.Add(time.Second))
		k.wantLost(k.Runs.FinishRun(k.Context(), c, runqueue.Done, ""), lease.Released)
	}
}

func runBelongs(k *kit) {
	k.launch("run-1")
	k.Advance(lasts)
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("the run %s of another process was claimed", c.Row.RunID)
	}
}

func runOrder(k *kit) {
	c := k.started("a")
	for _, runID := range []string{"run-z", "run-a", "run-m"} {
		k.reserveChild(c, runID, runID)
	}
	first := k.claimRun("run-z")
	k.claimRun("run-a")
	k.must(k.Runs.RenewRun(k.Context(), first, 3*lasts))
	k.Advance(lasts)
	again := k.claimRun("run-a")
	equal(k, "interrupted", again.Interrupted, true)
	equal(k, "interrupted", k.claimRun("run-m").Interrupted, false)
	if c := k.tryClaimRun(); c != nil {
		k.Errorf("claimed %s, want nothing to be left", c.Row.RunID)
	}
}

func runWait(k *kit) {
	c := k.started("a")
	w := k.start(k.waitRuns)
	w.pending()
	k.reserveChild(c, "r", "run-1")
	w.end()
	k.claimRun("run-1")
	w = k.start(k.waitRuns)
	w.pending()
	k.Advance(lasts)
	w.end()
	k.claimRun("run-1")
}

// waitRuns waits for a child run.
func (k *kit) waitRuns(ctx context.Context) error { return k.Runs.WaitRuns(ctx, runqueue.ClaimQuery{}) }

func runList(k *kit) {
	for _, runID := range []string{"b", "a", "c"} {
		k.launch(runID)
	}
	c := k.launch("d")
	k.must(k.Runs.FinishRun(k.Context(), c, runqueue.Failed, ""))
	list := func(q runqueue.Query) string {
		k.Helper()
		rows, err := k.Runs.Runs(k.Context(), q)
		k.must(err)
		var ids []string
		for _, row := range rows {
			equal(k, "row", row, k.run(row.RunID))
			ids = append(ids, row.RunID)
		}
		return strings.Join(ids, "")
	}
	equal(k, "all", list(runqueue.Query{}), "dcab")
	equal(k, "running", list(runqueue.Query{Status: runqueue.Running, Limit: 2}), "ca")
	equal(k, "before c", list(runqueue.Query{Before: "c"}), "ab")
	equal(k, "running before d, which is not", list(runqueue.Query{Status: runqueue.Running, Limit: 1, Before: "d"}), "c")
	equal(k, "before the oldest", list(runqueue.Query{Before: "b"}), "")
	equal(k, "before one that never was", list(runqueue.Query{Before: "never"}), "")
	_, err := k.Runs.Runs(k.Context(), runqueue.Query{Limit: 1001})
	wantKind[*controller.LimitError](k, err)
	_, err = k.Runs.Run(k.Context(), "never")
	equal(k, "error", *wantError[*runqueue.NotFoundError](k, err), runqueue.NotFoundError{RunID: "never"})
}

func runRefuses(k *kit) {
	for what, change := range map[string]func(*runqueue.NewRun){
		"no ID":         func(r *runqueue.NewRun) { r.RunID = "" },
		"no workflow":   func(r *runqueue.NewRun) { r.Workflow = "" },
		"no input":      func(r *runqueue.NewRun) { r.Input = nil },
		"a large input": func(r *runqueue.NewRun) { r.Input = text(controller.MaxRequestBytes + 1) },
	} {
		r := newRun("run-1")
		change(&r)
		if _, err := k.Runs.Launch(k.Context(), r, lasts); err == nil {
			k.Errorf("a run with %s was launched", what)
		}
	}
	c := k.launch("run-1")
	for _, status := range []runqueue.Status{"", runqueue.Queued, runqueue.Running, runqueue.Parked, "other"} {
		if err := k.Runs.FinishRun(k.Context(), c, status, ""); err == nil {
			k.Errorf("a run was finished as %q", status)
		}
		if err := k.Runs.AbandonRun(k.Context(), c, status, ""); err == nil {
			k.Errorf("a run was abandoned as %q", status)
		}
	}
	k.must(k.Runs.CheckRun(k.Context(), c))
}
