package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// heard is what a run tells on stderr.
type heard struct {
	t   *testing.T
	p   *runProgress
	seq int64
}

func (h *heard) event(at time.Duration, payload runbundle.Payload) {
	h.t.Helper()
	h.at("a", at, payload)
}

func (h *heard) at(node string, at time.Duration, payload runbundle.Payload) {
	h.t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		h.t.Fatal(err)
	}
	h.seq++
	h.p.hear(host.RunEvent{RunID: "r", Event: runbundle.Event{
		Seq: h.seq, At: runbundle.At(epoch.Add(at)), RunID: "r", Type: payload.Type(), NodeID: node, AttemptID: "1", Payload: raw,
	}})
}

// progress publishes progress of a key.
func (h *heard) progress(at time.Duration, key, more string) {
	h.t.Helper()
	data := fmt.Sprintf(`{"schema":%q,%s}`, workflow.ProgressSchema, more)
	h.event(at, runbundle.UpdatePublished{UpdateID: "u", Kind: workflow.UpdateProgress, Key: key, Data: json.RawMessage(data)})
}

// A track that moves fast gets a line a second, and whenever something about it
// changes.
func TestProgressOfARunIsToldInTime(t *testing.T) {
	t.Parallel()
	a, out, errs := screen()
	h := &heard{t: t, p: a.runProgress(nil)}
	count := func(n int, status string) string {
		return fmt.Sprintf(`"status":%q,"completed":%d,"unit":"files"`, status, n)
	}
	h.progress(0, "k", count(1, "running"))
	for i := range 9 {
		h.progress(time.Duration(i+1)*100*time.Millisecond, "k", count(i+2, "running"))
	}
	h.progress(1000*time.Millisecond, "k", count(11, "running"))
	h.progress(1100*time.Millisecond, "other", count(1, "running"))
	h.progress(1200*time.Millisecond, "k", count(12, "blocked"))
	h.progress(1300*time.Millisecond, "k", count(13, "blocked")+`,"phase":"p"`)
	h.progress(1400*time.Millisecond, "k", count(14, "blocked")+`,"phase":"p"`)
	h.progress(1500*time.Millisecond, "bad", `"status":"on"`)
	h.event(1600*time.Millisecond, runbundle.UpdatePublished{UpdateID: "u", Kind: "note", Key: "k", Data: json.RawMessage(`{}`)})
	h.event(1700*time.Millisecond, runbundle.NodeEnded{Outcome: "ok", DurationMs: 1700, Output: json.RawMessage(`1`)})
	want := `    k · 1 files · ETA unavailable (total is unknown)
    k · 11 files · ETA unavailable (total is unknown)
    other · 1 files · ETA unavailable (total is unknown)
    k · 12 files · ETA unavailable (progress is blocked)
    k · 13 files · p · elapsed 2s
    k · 14 files · p · elapsed 2s
  ✓ a  1.7s  1
`
	if diff := cmp.Diff(want, errs.String()); diff != "" || out.Len() > 0 {
		t.Errorf("%s%s", diff, out)
	}
}

func TestProgressOfARunFits(t *testing.T) {
	t.Parallel()
	a, _, errs := screen()
	h := &heard{t: t, p: a.runProgress(nil)}
	h.progress(0, "k", `"status":"running","label":"`+strings.Repeat("long ", 30)+`"`)
	golden(t, "screen-progress.txt", errs.String())
	errs.Reset()
	h.p.style.Width = 40
	h.event(time.Second, runbundle.NodeStarted{NodeType: "compute", StatusDetail: strings.Repeat("x", 60)})
	h.event(time.Second, runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(`"` + strings.Repeat("x", 60) + `"`)})
	want := "  ● a  " + strings.Repeat("x", 32) + "…\n  ✓ a  0ms  \"" + strings.Repeat("x", 26) + "…\n"
	if _, lines, _ := strings.Cut(errs.String(), "  ●"); "  ●"+lines != want {
		t.Errorf("lines %q, want %q", "  ●"+lines, want)
	}
}

// What the compiler makes of an included workflow is told by the names that the
// author gave.
func TestProgressNamesTheBordersOfIncludedWorkflows(t *testing.T) {
	t.Parallel()
	give := func(context.Context, *workflow.Context) (any, error) { return nil, nil }
	g, err := workflow.Compile(&workflow.Definition{
		Name: "outer", Revision: "1", StartAt: "begin", Nodes: []workflow.Node{workflow.Compute{ID: "begin", Run: give}},
		Includes: []workflow.Include{{Mount: "sub", Workflow: &workflow.Definition{
			Name: "inner", Revision: "1", StartAt: "work", Nodes: []workflow.Node{workflow.Compute{ID: "work", Run: give}},
			Exits: []workflow.Exit{{Name: "done", From: "work"}},
		}}},
		Edges: []workflow.Edge{{From: "begin", To: "sub"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _, errs := screen()
	h := &heard{t: t, p: a.runProgress(g)}
	for _, id := range []string{"begin", "sub", "sub/work", "sub/__piw_exit_done"} {
		h.at(id, 0, runbundle.NodeStarted{NodeType: "compute", StatusDetail: "working"})
		h.at(id, 0, runbundle.NodeEnded{Outcome: "ok", Output: json.RawMessage(`1`)})
	}
	want := `  ● begin  working
  ✓ begin  0ms  1
  ✓ enter sub  0ms  1
  ● sub/work  working
  ✓ sub/work  0ms  1
  ✓ sub.done  0ms  1
`
	if diff := cmp.Diff(want, errs.String()); diff != "" {
		t.Error(diff)
	}
}

// Output that has no end of line does not run into a line of progress.
func TestOutputStandsBetweenTheLinesOfProgress(t *testing.T) {
	t.Parallel()
	a, out, errs := screen()
	h := &heard{t: t, p: a.runProgress(nil)}
	prints := func(stream, text string) {
		h.p.hearOutput("r", spool.Piece{NodeID: "a", AttemptID: "1", Stream: stream, Text: text})
	}
	prints(spool.Stdout, "one\ntw")
	prints(spool.Stderr, "bad\x1b[31m")
	h.progress(0, "k", `"status":"running"`)
	prints(spool.Stdout, "o\n")
	prints(spool.Agent, "hm")
	h.event(time.Second, runbundle.NodeEnded{Outcome: "ok", DurationMs: 1000, Output: json.RawMessage(`1`)})
	want := `    a | one
    a | tw
    a ! bad
    k · running · ETA unavailable (total is unknown)
    a | o
    a | hm
  ✓ a  1.0s  1
`
	if diff := cmp.Diff(want, errs.String()); diff != "" || out.Len() > 0 {
		t.Errorf("%s%s", diff, out)
	}
}

func TestMessagesReachTheTerminal(t *testing.T) {
	t.Parallel()
	a, out, errs := screen()
	teller := &teller{app: a}
	n := engine.Notification{RunID: "r", NodeID: "n", Occurrence: 1, Content: "one\x1b[31m\n\ttwo\x07"}
	for range 2 { // it comes again after a crash
		receipt, err := teller.Notify(t.Context(), n)
		if err != nil || receipt.NotificationID != n.ID() || receipt.TargetSessionID != "terminal" {
			t.Errorf("%+v %v", receipt, err)
		}
	}
	n.Occurrence = 2
	if _, err := teller.Notify(t.Context(), n); err != nil {
		t.Error(err)
	}
	message := "  » one\n     two\uFFFD\n"
	if errs.String() != message+message || out.Len() > 0 {
		t.Errorf("%q %q", errs, out)
	}
}
