package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// abandon leaves a bundle as an owner that died after these events leaves it.
func (r *rig) abandon(d *workflow.Definition, steps ...runbundle.Draft) string {
	r.t.Helper()
	g := r.graph(d)
	source, err := json.Marshal(g.Source())
	if err != nil {
		r.t.Fatal(err)
	}
	init := runbundle.Init{
		RunID: runID, WorkflowName: g.Name(), Source: source, Digest: g.Digest(), Snapshot: g.Snapshot(), StartedAt: r.clock.Now(),
	}
	w, err := runbundle.Create(r.t.Context(), runbundle.Options{Clock: r.clock}, r.options.RunsDir, init)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(steps) > 0 {
		steps = append([]runbundle.Draft{init.Started()}, steps...)
	}
	for _, draft := range steps {
		draft.At = r.clock.Now()
		e, err := w.Append(r.t.Context(), draft)
		if err != nil {
			r.t.Fatal(err)
		}
		r.events = append(r.events, e)
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	return w.Dir()
}

func opened(node string, kind workflow.NodeType) runbundle.Draft {
	return runbundle.Draft{NodeID: node, AttemptID: "old-" + node, Payload: runbundle.NodeStarted{NodeType: string(kind)}}
}

func ended(node string, p runbundle.NodeEnded) runbundle.Draft {
	return runbundle.Draft{NodeID: node, AttemptID: "old-" + node, Payload: p}
}

func fine(output string) runbundle.NodeEnded {
	return runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: raw(output)}
}

func bad(outcome runbundle.Outcome, code string) runbundle.NodeEnded {
	return runbundle.NodeEnded{Outcome: outcome, Error: "no", ErrorCode: code}
}

func TestResumeGoesOnWhereTheRecordEnds(t *testing.T) {
	t.Parallel()
	never := func(context.Context, *workflow.Context) (any, error) {
		t.Error("a recorded step ran again")
		return nil, nil
	}
	plain := func() *workflow.Definition { return flow(compute("a", gives(1, nil)), compute("b", gives(2, nil))) }
	done := func() *workflow.Definition { return flow(compute("a", never), compute("b", gives(2, nil))) }
	switched := func() *workflow.Definition {
		d := done()
		d.Edges[0] = workflow.Edge{From: "a", Switch: routes("$.r", "x>b")}
		return d
	}
	short := func() *workflow.Definition {
		d := done()
		d.MaxSteps = 1
		return d
	}
	asks := func() *workflow.Definition {
		return flow(workflow.Checkpoint{ID: "a", Run: never}, compute("b", gives(2, nil)))
	}
	a := opened("a", workflow.TypeCompute)
	tests := []struct {
		name   string
		d      *workflow.Definition
		record []runbundle.Draft
		status runbundle.Status
		code   string
		trail  string
		events string // after those that were recorded
	}{
		{"nothing", plain(), nil, runbundle.Completed, "", "a:ok b:ok", "run_started run_resumed node_started"},
		{"a started attempt", plain(), []runbundle.Draft{a}, runbundle.Completed, "", "a:ok b:ok", "run_resumed node_started"},
		{"a step", done(), []runbundle.Draft{a, ended("a", fine("1"))}, runbundle.Completed, "", "a:ok b:ok", "run_resumed node_started"},
		{
			"the last step", flow(compute("a", never)), []runbundle.Draft{a, ended("a", fine("1"))},
			runbundle.Completed, "", "a:ok", "run_resumed run_completed",
		},
		{
			"a failure without an edge", done(), []runbundle.Draft{a, ended("a", bad("failed", "command_failed"))},
			runbundle.Failed, "command_failed", "a:failed", "run_resumed run_failed",
		},
		{
			"a timeout without an edge", done(), []runbundle.Draft{a, ended("a", bad("timed_out", engine.CodeTimeout))},
			runbundle.TimedOut, engine.CodeTimeout, "a:timed_out", "run_resumed run_timed_out",
		},
		{
			"work that did not settle", timeoutRoute(compute("a", never)), []runbundle.Draft{a, ended("a", bad("timed_out", engine.CodeUnsettled))},
			runbundle.Failed, engine.CodeUnsettled, "a:timed_out", "run_resumed run_failed",
		},
		{
			"a cancelled attempt", timeoutRoute(compute("a", never)), []runbundle.Draft{a, ended("a", bad("cancelled", engine.CodeCancelled))},
			runbundle.Cancelled, engine.CodeCancelled, "a:cancelled", "run_resumed run_cancelled",
		},
		{
			"a checkpoint", asks(), []runbundle.Draft{opened("a", workflow.TypeCheckpoint), ended("a", fine("1"))},
			runbundle.Waiting, "", "a:ok", "run_resumed run_waiting",
		},
		{
			"a switch that cannot choose", switched(), []runbundle.Draft{a, ended("a", fine(`{"r":"toString"}`))},
			runbundle.Failed, "route_failed", "a:ok", "run_resumed run_failed",
		},
		{
			"the last step that is allowed", short(), []runbundle.Draft{a, ended("a", fine("1"))},
			runbundle.Failed, engine.CodeMaxSteps, "a:ok", "run_resumed run_failed",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.abandon(test.d, test.record...)
			recorded := len(r.events)
			result, b := r.finish(r.resume(test.d))
			r.want(result, test.status, test.code, "")
			b.Events = b.Events[recorded:]
			if got := kinds(b); trail(b) != test.trail || !strings.HasPrefix(got, test.events) {
				t.Errorf("steps %s, events %s", trail(b), got)
			}
		})
	}
}

// A torn line is cut off, and callbacks see long texts and not references.
func TestResumeRepairsAndDecodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("long ", 2000)
	d := flow(compute("a", nil), compute("b", func(_ context.Context, c *workflow.Context) (any, error) {
		return workflow.OutputAs[string](c, "a")
	}))
	d.Nodes[0] = compute("a", gives(long, nil))
	dir := r.abandon(d, opened("a", workflow.TypeCompute), ended("a", fine(`"`+long+`"`)))
	file, err := os.OpenFile(filepath.Join(dir, "trace.ndjson"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(`{"seq":4,"at":"2027`)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	result, b := r.finish(r.resume(d))
	r.want(result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != `"`+long+`"` || b.Torn {
		t.Errorf("ended with %.60s, torn %v", result.FinalOutput, b.Torn)
	}
}

func TestResumeRefusesAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)))
	dir := r.abandon(d, opened("a", workflow.TypeCompute))
	before := contents(t, dir)
	resume := func(d *workflow.Definition, force bool) error {
		run, err := engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{RunID: runID, Force: force})
		if run != nil {
			t.Fatal("resumed")
		}
		if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
			t.Errorf("the bundle changed: %s", diff)
		}
		return err
	}

	changed := *d
	changed.Revision = "2"
	err := resume(&changed, false)
	e := wantErr[*engine.SourceChangedError](t, err)
	if len(e.Differences) != 1 || !strings.Contains(err.Error(), `"revision":"1"`) || !strings.Contains(err.Error(), `"revision":"2"`) {
		t.Errorf("the error does not tell both values: %v", err)
	}
	if !strings.Contains(err.Error(), "force it to go on") {
		t.Errorf("the error does not tell the next step: %v", err)
	}
	gone := flow(compute("z", gives(1, nil)))
	if e := wantErr[*engine.NodeGoneError](t, resume(gone, true)); e.Node != "a" {
		t.Errorf("node %q", e.Node)
	}

	lock, err := oslock.TryLockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := resume(d, false); !errors.Is(err, oslock.ErrHeld) {
		t.Errorf("a bundle with an owner: %v", err)
	}
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}

	_, err = engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{RunID: "missing"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing bundle: %v", err)
	}
	_, err = engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{})
	wantErr[*runbundle.IDError](t, err)
}

func TestForcedResumeIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(compute("a", gives(1, nil)))
	r.abandon(d, opened("a", workflow.TypeCompute))
	d.Revision = "2"
	run, err := engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{RunID: runID, Force: true, Observe: r.start.Observe})
	result, b := r.finish(r.took(run, err))
	r.want(result, runbundle.Completed, "", "")
	want := `{"resumeAt":"a","replayedSteps":0,"workflowSourceMismatch":true,"forced":true}`
	if got := payloadOf(t, b, runbundle.EventRunResumed); got != want {
		t.Errorf("resumed with %s", got)
	}
}

func TestResumeOfAnEndedRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(compute("a", gives(1, nil)))
	_, b := r.run(d)
	before := contents(t, b.Dir)
	_, err := engine.New(r.options).Resume(t.Context(), r.graph(d), engine.ResumeOptions{RunID: runID})
	if e := wantErr[*runbundle.EndedError](t, err); e.Status != runbundle.Completed {
		t.Errorf("status %s", e.Status)
	}
	if diff := cmp.Diff(before, contents(t, b.Dir)); diff != "" {
		t.Errorf("a terminal bundle changed: %s", diff)
	}
	_, err = engine.New(r.options).Continue(t.Context(), r.graph(d), engine.ContinueOptions{Parent: runID})
	wantErr[*engine.NotWaitingError](t, err)
}
