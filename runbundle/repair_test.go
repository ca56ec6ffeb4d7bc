package runbundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
)

// abandoned leaves a bundle as a killed owner does: events in the trace that no
// projection shows, a torn line and temporary files.
func abandoned(t *testing.T, drafts ...runbundle.Draft) *bundle {
	t.Helper()
	live := newBundle(t)
	w := live.create(t)
	w.tell(drafts)
	b := live.copied(t)
	for name, text := range map[string]string{
		"trace.ndjson":       contents(t, b.dir())["trace.ndjson"] + `{"seq":99,"at":"2027`,
		"state.json.7.x.tmp": "{", "artifacts/sha256-0.txt.7.x.tmp": "half",
	} {
		if err := os.MkdirAll(filepath.Dir(b.file(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestMarkInterrupted(t *testing.T) {
	t.Parallel()
	story := story()
	b := abandoned(t, story[:8]...) // the second attempt is running
	s, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "the host was killed")
	if err != nil {
		t.Fatal(err)
	}
	read := b.read(t)
	sameState(t, "returned state", s, read.State)
	if !read.Interrupted() || s.Status != runbundle.Failed || s.Error != "the host was killed" || s.ErrorCode != runbundle.CodeInterrupted {
		t.Errorf("state %s %q %q", s.Status, s.Error, s.ErrorCode)
	}
	if len(s.Steps) != 1 || s.CurrentAttemptID != "" || s.TraceSeq != 10 || read.Torn {
		t.Errorf("%d steps, attempt %q, seq %d, torn %v", len(s.Steps), s.CurrentAttemptID, s.TraceSeq, read.Torn)
	}
	if m, err := runbundle.ReadManifest(b.dir()); err != nil || m.Status != runbundle.Failed || m.FinishedAt != s.FinishedAt {
		t.Errorf("manifest %+v, %v", m, err)
	}
	for name := range contents(t, b.dir()) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s is left", name)
		}
	}
}

// The prompt of a running agent is in the trace only; a repair that loses it
// would change the step.
func TestRepairKeepsThePromptOfTheRunningAttempt(t *testing.T) {
	t.Parallel()
	story := story()
	b := newBundle(t)
	w := b.create(t)
	w.tell(story[:2])
	if err := w.Close(); err != nil { // projects between the prompt and the end
		t.Fatal(err)
	}
	trace := b.read(t)
	if trace.State.CurrentNode != "pick" {
		t.Fatalf("current node %q", trace.State.CurrentNode)
	}
	end := runbundle.Event{
		Seq: 4, At: trace.Events[2].At, RunID: runID, Type: runbundle.EventNodeFailed, NodeID: "pick", AttemptID: "attempt-1",
		Payload: []byte(`{"outcome":"failed","durationMs":3,"error":"gone"}`),
	}
	if err := runbundle.Fold(&trace.State, end); err != nil {
		t.Fatal(err)
	}
	step := trace.State.Steps[0]
	if got := string(step.Prompt); got != `"Choose.\n`+long("p")+`"` || step.NodeType != "agent" {
		t.Errorf("prompt %.50s of a node of type %q", got, step.NodeType)
	}
}

func TestMarkInterruptedLeavesATerminalBundleAlone(t *testing.T) {
	t.Parallel()
	for _, end := range []runbundle.Payload{
		runbundle.RunEnded{Status: runbundle.Completed}, runbundle.RunEnded{Status: runbundle.Waiting, WaitingOn: "a"},
		runbundle.RunEnded{Status: runbundle.Cancelled, Error: "stop"}, runbundle.RunInterrupted{Error: "first"},
	} {
		b := newBundle(t)
		w := b.create(t)
		w.add(b.init().Started())
		w.add(run(end))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		before := contents(t, b.dir())
		s, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "second")
		if err != nil || s.Error == "second" {
			t.Errorf("%s: %q, %v", end.Type(), s.Error, err)
		}
		if diff := cmp.Diff(before, contents(t, b.dir())); diff != "" {
			t.Errorf("%s: changed %s", end.Type(), diff)
		}
	}
}

// The end is in the trace, its owner died before the projections showed it.
func TestMarkInterruptedShowsAnEndThatWasRecorded(t *testing.T) {
	t.Parallel()
	b := settled(t)
	trace := contents(t, b.dir())["trace.ndjson"]
	stale := abandoned(t, story()[:5]...)
	if err := os.WriteFile(stale.file("trace.ndjson"), []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(stale.file("artifacts/"), os.DirFS(b.file("artifacts"))); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	for name, text := range contents(t, b.file("artifacts")) {
		if err := os.WriteFile(stale.file("artifacts/"+name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := runbundle.MarkInterrupted(t.Context(), stale.options, stale.dir(), "late")
	if err != nil || s.Status != runbundle.Completed {
		t.Fatalf("status %s, %v", s.Status, err)
	}
	after := contents(t, stale.dir())
	if after["trace.ndjson"] != trace {
		t.Error("the trace was changed")
	}
	// What the dead owner would have written, byte for byte.
	for _, name := range []string{"state.json", "manifest.json"} {
		if diff := cmp.Diff(contents(t, b.dir())[name], after[name]); diff != "" {
			t.Errorf("%s: %.2000s", name, diff)
		}
	}
}

func TestMarkInterruptedRefusesABrokenBundle(t *testing.T) {
	t.Parallel()
	b := abandoned(t, story()[:5]...)
	b.edit(t, "trace.ndjson", `{"seq":2,`, `{"seq":3,`)
	before := contents(t, b.dir())
	_, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "x")
	wantErr[*runbundle.CorruptError](t, err)
	if diff := cmp.Diff(before, contents(t, b.dir())); diff != "" {
		t.Error(diff)
	}
}

func TestMarkInterruptedAsksTheFence(t *testing.T) {
	t.Parallel()
	b := abandoned(t, story()[:5]...)
	lost := errors.New("claim lost")
	b.options.Fence = func(contextType) error { return lost }
	before := contents(t, b.dir())
	if _, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "x"); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, b.dir())); diff != "" {
		t.Error(diff)
	}
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	b := settled(t)
	if _, err := runbundle.QuarantineIncomplete(b.options, b.root, runID, "u"); !errors.Is(err, runbundle.ErrExists) {
		t.Errorf("a whole bundle: %v", err)
	}
	if moved, err := runbundle.QuarantineIncomplete(b.options, b.root, "missing", "u"); moved != "" || err != nil {
		t.Errorf("a missing folder: %q, %v", moved, err)
	}
	_, err := runbundle.QuarantineIncomplete(b.options, b.root, "../runs", "u")
	wantErr[*runbundle.IDError](t, err)
	if err := os.WriteFile(b.file("manifest.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = runbundle.QuarantineIncomplete(b.options, b.root, runID, "u")
	wantErr[*runbundle.CorruptError](t, err)

	if err := os.Remove(b.file("manifest.json")); err != nil {
		t.Fatal(err)
	}
	lock, err := oslock.TryLockDir(b.dir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runbundle.QuarantineIncomplete(b.options, b.root, runID, "u"); !errors.Is(err, oslock.ErrHeld) {
		t.Errorf("a start that goes on: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	moved, err := runbundle.QuarantineIncomplete(b.options, b.root, runID, "0a1b2c3d-0000")
	if want := filepath.Join(b.root, "."+runID+".incomplete-0a1b2c3d"); moved != want || err != nil {
		t.Fatalf("moved to %q, %v", moved, err)
	}
	if _, err := os.Lstat(filepath.Join(moved, "trace.ndjson")); err != nil {
		t.Error(err)
	}
	if runs, broken, err := runbundle.List(b.root); len(runs)+len(broken) != 0 || err != nil {
		t.Errorf("list: %v, %v, %v", runs, broken, err)
	}
}
