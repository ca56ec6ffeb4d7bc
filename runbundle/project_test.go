package runbundle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
)

// shownSeq returns the event up to which state.json goes.
func (b *bundle) shownSeq(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile(b.file("state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ TraceSeq int64 }
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s.TraceSeq
}

// step appends one attempt and returns the seq of its end.
func (w *writer) step(i int) int64 {
	w.t.Helper()
	w.add(node("a", i, runbundle.NodeStarted{NodeType: "compute"}))
	return w.add(node("a", i, ok(`{"n":1}`))).Seq
}

func TestQuietRunIsProjected(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	projected := make(chan struct{}, 1)
	b.options.FS = durable.WithHook(func(op durable.Op, path string) error {
		if op == durable.OpCreate && path == b.file("state.json") {
			projected <- struct{}{}
		}
		return nil
	})
	w := b.create(t)
	<-projected
	w.add(b.init().Started())
	if err := b.clock.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(200 * time.Millisecond)
	last := w.step(1)                       // starts the wait anew
	b.clock.Advance(249 * time.Millisecond) // the first wait ends, the run is not quiet yet
	if err := b.clock.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := b.shownSeq(t); got != 0 {
		t.Fatalf("projected %d before the run was quiet", got)
	}
	b.clock.Advance(250 * time.Millisecond)
	<-projected
	if err := w.Sync(t.Context()); err != nil { // waits for the end of the projection
		t.Fatal(err)
	}
	if got := b.shownSeq(t); got != last {
		t.Fatalf("projected %d, want %d", got, last)
	}
}

func TestOldProjectionIsRenewedAtTheNextEvent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	// Never quiet, and too little for the trace to have grown by much.
	for range 20 {
		b.clock.Advance(244 * time.Millisecond)
		w.add(node("a", 1, runbundle.NodeStarted{NodeType: "compute"}))
	}
	if got := b.shownSeq(t); got != 0 {
		t.Fatalf("projected %d before its time", got)
	}
	b.clock.Advance(199 * time.Millisecond)
	last := w.add(node("a", 1, runbundle.NodeStarted{NodeType: "compute"})).Seq
	if got := b.shownSeq(t); got != last {
		t.Fatalf("projected %d of %d", got, last)
	}
}

// TestBytesWrittenStayInProportion is what keeps long runs from costing the
// square of their steps, whatever the steps look like.
func TestBytesWrittenStayInProportion(t *testing.T) {
	t.Parallel()
	many := make([]int, 500)
	for name, test := range map[string]struct {
		steps  int
		output string
	}{
		"short outputs": {4000, `{"n":1}`}, "no outputs": {4000, `null`}, "texts": {500, quote(strings.Repeat("a", 2000))},
		"lists, which are longer in the state": {500, mustJSON(t, many)}, "long texts": {50, quote(long("a"))}, "few steps": {20, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			ops := &operations{root: b.root}
			var written atomic.Int64
			b.options.FS = ops.fs().Counting(&written)
			w := b.create(t)
			w.add(b.init().Started())
			for i := range test.steps {
				w.add(node("a", i, runbundle.NodeStarted{NodeType: "compute"}))
				w.add(node("a", i, ok(test.output)))
			}
			w.add(run(runbundle.RunEnded{Status: runbundle.Completed}))
			kept := 0
			for _, name := range []string{"trace.ndjson", "state.json"} {
				kept += len(contents(t, b.dir())[name])
			}
			if got := float64(written.Load()) / float64(kept); got > 4 {
				t.Errorf("wrote %.2f times of the %d bytes that are kept", got, kept)
			}
			if got := ops.count("rename", "state.json"); kept > 500_000 && got < 5 || got > 40 {
				t.Errorf("%d projections of %d steps", got, test.steps)
			}
			if got := ops.count("rename", "manifest.json"); got != 2 {
				t.Errorf("the manifest changed once and was written %d times", got)
			}
		})
	}
}

func TestFailedProjectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	full := false
	ops := &operations{root: b.root, fail: func(_ int, op durable.Op, path string) error {
		if full && op == durable.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	}}
	b.options.FS = ops.fs()
	w := b.create(t)
	full = true
	for i := range 200 {
		w.step(i) // some of them try to project
	}
	if got := b.shownSeq(t); got != 0 {
		t.Fatalf("projected %d on a full disk", got)
	}
	sameState(t, "state on a full disk", stateOf(t, w), b.read(t).State)
	full = false
	last := w.step(201)
	if got := b.shownSeq(t); got < last-1 {
		t.Fatalf("projected %d of %d after there was space", got, last)
	}
}

func TestLostFenceStopsEveryWrite(t *testing.T) {
	t.Parallel()
	lost := errors.New("claim lost")
	b := newBundle(t)
	var fence error
	asked := 0
	b.options.Fence = func(ctx contextType) error { asked++; return fence }
	w := b.create(t)
	w.add(b.init().Started())
	w.step(1)
	if err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked != 2 { // by Create and by Sync, not by each event
		t.Errorf("asked %d times", asked)
	}
	fence = lost
	if err := w.Sync(t.Context()); !errors.Is(err, lost) {
		t.Fatalf("Sync: %v", err)
	}
	fence = nil // no way back
	before := contents(t, b.dir())
	for _, p := range []runbundle.Payload{runbundle.NodeStarted{NodeType: "compute"}, runbundle.RunEnded{Status: runbundle.Failed}} {
		if _, err := w.try(node("a", 2, p)); !errors.Is(err, lost) {
			t.Errorf("%s: %v", p.Type(), err)
		}
	}
	b.clock.Advance(time.Hour)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, b.dir()); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("written after the claim was lost: %v", after)
	}
}

func TestEndAsksTheFenceFirst(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var fence error
	b.options.Fence = func(contextType) error { return fence }
	w := b.create(t)
	w.add(b.init().Started())
	fence = errors.New("claim lost")
	if _, err := w.try(run(runbundle.RunEnded{Status: runbundle.Completed})); !errors.Is(err, fence) {
		t.Fatalf("end: %v", err)
	}
	if got := len(b.read(t).Events); got != 1 || w.Ended() {
		t.Errorf("%d events, ended %v", got, w.Ended())
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, id := range []string{"", "..", "a/b", "-a", ".hidden", strings.Repeat("a", 201), "a\x00"} {
		i := b.init()
		i.RunID = id
		_, err := runbundle.Create(t.Context(), b.options, b.root, i)
		wantErr[*runbundle.IDError](t, err)
	}
	w := b.create(t)
	before := contents(t, b.dir())
	_, err := runbundle.Create(t.Context(), b.options, b.root, b.init())
	if exists := wantErr[*runbundle.ExistsError](t, err); exists.RunID != runID || !errors.Is(err, runbundle.ErrExists) {
		t.Errorf("%+v", exists)
	}
	if after := contents(t, b.dir()); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("the existing bundle was changed")
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Discard: %v", err)
	}
}

func TestBundleHasOneOwner(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	owned := func(want bool) {
		t.Helper()
		if got, err := runbundle.Owned(b.dir()); got != want || err != nil {
			t.Errorf("owned %v, %v", got, err)
		}
	}
	owned(true)
	if _, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "gone"); !errors.Is(err, oslock.ErrHeld) {
		t.Fatalf("MarkInterrupted: %v", err)
	}
	defer owned(false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try(node("a", 1, runbundle.NodeStarted{})); !errors.Is(err, runbundle.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
	if err := w.Sync(t.Context()); !errors.Is(err, runbundle.ErrClosed) {
		t.Errorf("Sync after Close: %v", err)
	}
	if _, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "gone"); err != nil {
		t.Fatal(err)
	}
}

func TestViewOfTheWriter(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	w.step(1)
	snapshot := stateOf(t, w)
	w.add(node("a", 2, runbundle.NodeStarted{NodeType: "compute"}))
	w.add(node("a", 2, failed("no")))
	if s, err := w.Step(0); err != nil || s.AttemptID != "attempt-1" || string(s.Output) != `{"n":1}` || w.Steps() != 2 {
		t.Errorf("first of %d steps %+v, %v", w.Steps(), s, err)
	}
	if s, err := w.Step(1); err != nil || s.Error != "no" || s.Output != nil {
		t.Errorf("second step %+v, %v", s, err)
	}
	for _, i := range []int{-1, 2} {
		if _, err := w.Step(i); err == nil {
			t.Errorf("there is a step %d", i)
		}
	}
	if _, ok := w.Output("a"); ok {
		t.Error("a failed repeat left the output of the success before it")
	}
	if r, ok := w.Result("a"); !ok || r.Error != "no" || r.AttemptID != "attempt-2" {
		t.Errorf("result %+v", r)
	}
	if _, ok := snapshot.Outputs["a"]; !ok || len(snapshot.Steps) != 1 {
		t.Error("a later event changed an earlier state")
	}
}

func TestRunIDs(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 10, 15, 0, 999, time.FixedZone("x", 7200))
	for _, test := range []struct{ workflow, want string }{
		{"greet", "20270105T081500Z-greet-0a1b2c3d"},
		{"  Verify: Branch!! ", "20270105T081500Z-verify-branch-0a1b2c3d"},
		{"日本", "20270105T081500Z-workflow-0a1b2c3d"},
		{strings.Repeat("a", 39) + "-b", "20270105T081500Z-" + strings.Repeat("a", 39) + "--0a1b2c3d"},
	} {
		got := runbundle.NewRunID(test.workflow, at, "0a1b2c3d-0000-4000-8000-000000000001")
		if got != test.want {
			t.Errorf("%q: %s, want %s", test.workflow, got, test.want)
		}
		if err := runbundle.CheckRunID(got); err != nil {
			t.Error(err)
		}
	}
}
