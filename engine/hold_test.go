package engine_test

import (
	"strings"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/runbundle"
)

func TestPauseHoldsAtTheNextBorder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	held := make(chan *engine.Run, 1)
	r.at(runbundle.EventNodeStarted, 1, func(run *engine.Run) {
		run.Pause()
		run.Pause()
		held <- run
	})
	r.at(runbundle.EventRunPaused, 1, func(run *engine.Run) { held <- run })
	run := r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil))))
	<-held
	<-held
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !b.State.Paused || trail(b) != "a:ok" || b.State.CurrentNode != "" {
		t.Errorf("paused %v, steps %s, current %q", b.State.Paused, trail(b), b.State.CurrentNode)
	}
	r.clock.Advance(time.Hour) // no deadline runs while a run is held
	run.Resume()
	result, b := r.finish(run)
	r.want(result, runbundle.Completed, "", "")
	want := "run_started node_started node_finished run_paused run_resumed node_started node_finished run_completed"
	if got := kinds(b); got != want || b.State.Paused {
		t.Errorf("events %s, paused %v", got, b.State.Paused)
	}
	for _, e := range b.Events {
		if (e.Type == runbundle.EventRunPaused || e.Type == runbundle.EventRunResumed) && string(e.Payload) != "{}" {
			t.Errorf("%s has the payload %s", e.Type, e.Payload)
		}
	}
}

// A pause that is lifted before the border, and one in the last step, hold
// nothing.
func TestPauseThatHoldsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.at(runbundle.EventNodeStarted, 1, func(run *engine.Run) {
		run.Pause()
		run.Resume()
		run.Resume()
	})
	r.at(runbundle.EventNodeStarted, 2, (*engine.Run).Pause)
	result, b := r.run(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil))))
	r.want(result, runbundle.Completed, "", "")
	if got := kinds(b); got != "run_started node_started node_finished node_started node_finished run_completed" {
		t.Errorf("events %s", got)
	}
}

// A run that is told to end while it is held ends at once, without going on.
func TestEndOfAHeldRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		act    func(*engine.Run)
		status runbundle.Status
		code   string
		last   string
	}{
		{"cancel", (*engine.Run).Cancel, runbundle.Cancelled, engine.CodeCancelled, "run_cancelled"},
		{"interrupt", func(r *engine.Run) { r.Interrupt("stop") }, runbundle.Failed, runbundle.CodeInterrupted, "run_interrupted"},
		{"park", (*engine.Run).Park, runbundle.Running, "", ""},
		{"cancel and resume", func(r *engine.Run) { r.Cancel(); r.Resume() }, runbundle.Cancelled, engine.CodeCancelled, "run_cancelled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.at(runbundle.EventNodeStarted, 1, (*engine.Run).Pause)
			r.at(runbundle.EventRunPaused, 1, test.act)
			result, b := r.run(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil))))
			r.want(result, test.status, test.code, "")
			want := strings.TrimSpace("run_started node_started node_finished run_paused " + test.last)
			if got := kinds(b); got != want {
				t.Errorf("events %s", got)
			}
			if parked := test.name == "park"; result.Parked != parked || b.State.Paused != parked {
				t.Errorf("parked %v, paused %v", result.Parked, b.State.Paused)
			}
		})
	}
}

func TestParkDiscardsTheRunningAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working := make(chan struct{}, 1)
	d := flow(compute("a", gives(1, nil)), compute("b", waits(working)), compute("c", gives(3, nil)))
	run := r.begin(d)
	<-working
	run.Park()
	run.Park()
	run.Cancel()
	result, b := r.finish(run)
	if !result.Parked || result.Status != runbundle.Running || result.Interrupted {
		t.Fatalf("result %+v", result)
	}
	if got := kinds(b); got != "run_started node_started node_finished node_started" || b.State.CurrentNode != "b" {
		t.Errorf("events %s, current %q", got, b.State.CurrentNode)
	}
	d.Nodes[1] = compute("b", gives(2, nil))
	result, b = r.finish(r.resume(d))
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); got != "a:ok b:ok c:ok" || result.Parked {
		t.Errorf("steps %s, parked %v", got, result.Parked)
	}
	if got := payloadOf(t, b, runbundle.EventRunResumed); got != `{"resumeAt":"b","replayedSteps":1}` {
		t.Errorf("resumed with %s", got)
	}
}
