package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

const continuationID = "20270105T081600Z-greet-feedbeef"

// answer continues the run that was begun.
func (r *rig) answer(d *workflow.Definition, text string) *engine.Run {
	r.t.Helper()
	r.events = nil
	return r.took(engine.New(r.options).Continue(r.t.Context(), r.graph(d), engine.ContinueOptions{
		Parent: r.start.RunID, RunID: continuationID, Answer: raw(text), Fence: r.start.Fence, Reserve: r.start.Reserve, Observe: r.start.Observe,
	}))
}

// asking waits for an answer between two steps.
func asking() *workflow.Definition {
	return flow(
		compute("before", gives("long", nil)),
		workflow.Checkpoint{ID: "ask", Run: gives(map[string]string{"question": "go on?"}, nil)},
		compute("after", func(_ context.Context, c *workflow.Context) (any, error) {
			output, _ := c.View.Output("before")
			question, _ := c.View.Output("ask")
			return map[string]any{"input": c.Input, "before": output, "ask": question, "steps": c.View.Steps()}, nil
		}),
	)
}

func TestContinue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := asking()
	d.Input = func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		return raw(`{"got":` + string(input) + `}`), nil
	}
	r.start.Input = raw(`"first"`)
	result, parent := r.run(d)
	r.want(result, runbundle.Waiting, "", "")
	before := contents(t, parent.Dir)

	result, b := r.finish(r.answer(d, `"yes"`))
	r.want(result, runbundle.Completed, "", "")
	want := `{"ask":{"question":"go on?"},"before":"long","input":{"got":"yes"},"steps":2}`
	if string(result.FinalOutput) != want || result.RunID != continuationID {
		t.Errorf("%s ended with %s", result.RunID, result.FinalOutput)
	}
	s := b.State
	if s.ParentRunID != runID || s.CarriedStepCount != 2 || trail(b) != "before:ok ask:ok after:ok" || string(s.Input) != `{"got":"yes"}` {
		t.Errorf("parent %q, carried %d, steps %s, input %s", s.ParentRunID, s.CarriedStepCount, trail(b), s.Input)
	}
	if got := kinds(b); got != "run_started node_started node_finished run_completed" {
		t.Errorf("events %s", got)
	}
	started := `{"workflowName":"greet","input":{"got":"yes"},"continuedFrom":"` + runID + `","checkpoint":"ask","carriedSteps":2}`
	if got := payloadOf(t, b, runbundle.EventRunStarted); got != started {
		t.Errorf("started with %s", got)
	}
	if diff := cmp.Diff(before, contents(t, parent.Dir)); diff != "" {
		t.Errorf("the parent changed: %s", diff)
	}
}
