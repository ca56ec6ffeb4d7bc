package runbundle_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/runbundle"
)

// sameState compares states as their JSON, which has all that readers see.
func sameState(t testing.TB, what string, want, got runbundle.State) {
	t.Helper()
	a, errA := json.MarshalIndent(want, "", " ")
	b, errB := json.MarshalIndent(got, "", " ")
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Fatalf("%s differs (-want +got):\n%.3000s", what, diff)
	}
}

// TestFoldedTailIsTheStateOfTheWriter reads after each event: what is on disk
// then is a projection that lags behind, with the trace to make up for it.
func TestFoldedTailIsTheStateOfTheWriter(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	for _, d := range story() {
		w.add(d)
		read := b.read(t)
		sameState(t, string(d.Payload.Type()), stateOf(t, w), read.State)
		if read.Manifest.Status != read.State.Status {
			t.Fatalf("manifest says %s, state %s", read.Manifest.Status, read.State.Status)
		}
	}
}

// TestFoldOfAllEventsIsTheState lets random runs be written, with projections
// at random moments, and folds their traces from the first event.
func TestFoldOfAllEventsIsTheState(t *testing.T) {
	t.Parallel()
	passed := 0
	rapid.Check(t, func(rt *rapid.T) {
		if passed >= enough {
			return
		}
		b := newBundle(t)
		w := b.create(t)
		first := stateOf(t, w)
		w.add(b.init().Started())
		steps := rapid.IntRange(0, 6).Draw(rt, "steps")
		for i := range steps {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "node")
			w.add(node(name, i, runbundle.NodeStarted{NodeType: "compute", StatusDetail: name}))
			if rapid.Bool().Draw(rt, "prompt") {
				w.add(node(name, i, runbundle.PromptSent{Prompt: rapid.SampledFrom([]string{"", "p", "q", "r", long("p")}).Draw(rt, "text")}))
			}
			end := ok(rapid.SampledFrom([]string{"null", "1", "2", "3", `{"a":"` + long("p") + `"}`, `{"$escaped":1}`}).Draw(rt, "output"))
			if rapid.Bool().Draw(rt, "fails") {
				end = failed(rapid.SampledFrom([]string{"e", "f", "g", long("p")}).Draw(rt, "error"))
			}
			w.add(node(name, i, end))
			b.clock.Advance(rapid.SampledFrom([]int64ms{0, 0, 0, 0, 1, 6000}).Draw(rt, "wait").duration())
		}
		if rapid.Bool().Draw(rt, "ends") {
			w.add(run(runbundle.RunEnded{Status: runbundle.Waiting, WaitingOn: "a", FinalOutput: json.RawMessage("1")}))
		}
		read := b.read(t)
		sameState(t, "folded tail", stateOf(t, w), read.State)
		for _, e := range read.Events {
			if err := runbundle.Fold(&first, e); err != nil {
				rt.Fatal(err)
			}
		}
		sameState(t, "fold of all events", stateOf(t, w), first)
		if err := w.Discard(); err != nil {
			rt.Fatal(err)
		}
		passed++
	})
}

func TestFoldRefusesWhatCannotFollow(t *testing.T) {
	t.Parallel()
	event := func(change func(e *runbundle.Event)) runbundle.Event {
		e := runbundle.Event{
			Seq: 3, RunID: runID, Type: runbundle.EventNodeFinished, NodeID: "a", AttemptID: "attempt-1",
			Payload: json.RawMessage(`{"outcome":"ok","output":1}`),
		}
		change(&e)
		return e
	}
	tests := []struct {
		name  string
		event runbundle.Event
		want  string
	}{
		{"gap", event(func(e *runbundle.Event) { e.Seq = 4 }), "follows event 2"},
		{"repeat", event(func(e *runbundle.Event) { e.Seq = 2 }), "follows event 2"},
		{"other run", event(func(e *runbundle.Event) { e.RunID = "other" }), "belongs to run"},
		{"other attempt", event(func(e *runbundle.Event) { e.AttemptID = "attempt-0" }), `while attempt "attempt-1" runs`},
		{"no attempt", event(func(e *runbundle.Event) { e.AttemptID = "" }), "while attempt"},
		{"payload no JSON", event(func(e *runbundle.Event) { e.Payload = json.RawMessage(`{`) }), "payload of node_finished"},
		{"payload of another type", event(func(e *runbundle.Event) { e.Payload = json.RawMessage(`{"outcome":"failed"}`) }), "says that it is node_failed"},
		{"unknown outcome", event(func(e *runbundle.Event) {
			e.Type, e.Payload = runbundle.EventNodeFailed, json.RawMessage(`{"outcome":"fine"}`)
		}), "does not end as"},
		{"start without a node", event(func(e *runbundle.Event) {
			e.Type, e.NodeID, e.Payload = runbundle.EventNodeStarted, "", json.RawMessage(`{}`)
		}), "names no node"},
		{"end that is none", event(func(e *runbundle.Event) {
			e.Type, e.Payload = runbundle.EventRunCompleted, json.RawMessage(`{"status":"running"}`)
		}), "says that it is run_running"},
	}
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	w.add(node("a", 1, runbundle.NodeStarted{NodeType: "compute"}))
	for _, test := range tests {
		s := stateOf(t, w)
		err := runbundle.Fold(&s, test.event)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one that contains %q", test.name, err, test.want)
		}
		sameState(t, test.name, stateOf(t, w), s)
	}
}

func TestFoldPassesOverUnknownEvents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	s := stateOf(t, w)
	err := runbundle.Fold(&s, runbundle.Event{Seq: 1, RunID: runID, Type: "include_entered", Payload: json.RawMessage(`{"mountPath":["a"]}`)})
	if err != nil || s.TraceSeq != 1 || s.Status != runbundle.Running {
		t.Fatalf("state %s, %v", mustJSON(t, s), err)
	}
}

func TestNothingFollowsTheEnd(t *testing.T) {
	t.Parallel()
	for _, end := range []runbundle.Payload{
		runbundle.RunEnded{Status: runbundle.Completed}, runbundle.RunEnded{Status: runbundle.Waiting, WaitingOn: "a"},
		runbundle.RunEnded{Status: runbundle.Cancelled}, runbundle.RunInterrupted{Error: "stop"},
	} {
		b := newBundle(t)
		w := b.create(t)
		w.add(b.init().Started())
		w.add(run(end))
		for _, p := range []runbundle.Payload{end, runbundle.NodeStarted{NodeType: "compute"}, runbundle.RunResumed{}} {
			if _, err := w.try(node("a", 1, p)); !errors.Is(err, runbundle.ErrEnded) {
				t.Errorf("%s after %s: %v", p.Type(), end.Type(), err)
			}
		}
		if got := len(b.read(t).Events); got != 2 {
			t.Errorf("%d events after %s", got, end.Type())
		}
	}
}

func TestEndsAreFolded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		payload     runbundle.Payload
		want        string
		interrupted bool
	}{
		{
			runbundle.RunEnded{Status: runbundle.TimedOut, Error: "slow", ErrorCode: "node_timed_out"},
			`timed_out "slow" "node_timed_out" ""`, false,
		},
		{runbundle.RunEnded{Status: runbundle.Waiting, WaitingOn: "ask", FinalOutput: json.RawMessage("null")}, `waiting "" "" "ask"`, false},
		{runbundle.RunInterrupted{Error: "host stopped"}, `failed "host stopped" "interrupted" ""`, true},
	}
	for _, test := range tests {
		b := newBundle(t)
		w := b.create(t)
		w.add(b.init().Started())
		w.add(node("a", 1, runbundle.NodeStarted{NodeType: "agent", StatusDetail: "thinks"}))
		w.add(run(test.payload))
		read := b.read(t)
		s := read.State
		if got := strings.Join([]string{string(s.Status), quote(s.Error), quote(s.ErrorCode), quote(s.WaitingOn)}, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.payload.Type(), got, test.want)
		}
		if read.Interrupted() != test.interrupted {
			t.Errorf("%s: interrupted is %v", test.payload.Type(), read.Interrupted())
		}
		if s.CurrentNode+s.CurrentAttemptID+s.StatusDetail != "" || !s.CurrentNodeStartedAt.IsZero() || s.FinishedAt.IsZero() {
			t.Errorf("%s leaves a running attempt: %s", test.payload.Type(), mustJSON(t, s))
		}
	}
}
