package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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

func TestContinueAfterACheckpointWithoutAnEdge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(workflow.Checkpoint{ID: "ask", Run: gives("go on?", nil)})
	r.run(d)
	result, b := r.finish(r.answer(d, `"yes"`))
	r.want(result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != `"go on?"` || kinds(b) != "run_started run_completed" {
		t.Errorf("%s ended with %s", kinds(b), result.FinalOutput)
	}
}

// What refuses a continuation leaves the parent as it is, to be answered again.
func TestContinueRefusesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	taken := errors.New("somebody else answered")
	for name, test := range map[string]struct {
		change func(d *workflow.Definition, o *engine.ContinueOptions)
		check  func(err error) bool
	}{
		"another definition": {
			func(d *workflow.Definition, _ *engine.ContinueOptions) { d.Revision = "2" },
			isA[*engine.SourceChangedError],
		},
		"a checkpoint that is gone": {
			func(d *workflow.Definition, o *engine.ContinueOptions) {
				*d, o.Force = *flow(compute("other", gives(1, nil))), true
			},
			isA[*engine.NodeGoneError],
		},
		"an answer that the workflow refuses": {
			func(d *workflow.Definition, _ *engine.ContinueOptions) {
				d.Input = func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return nil, errors.New("say yes or no")
				}
			},
			isA[*engine.InputError],
		},
		"a reservation that fails": {
			func(_ *workflow.Definition, o *engine.ContinueOptions) {
				o.Reserve = func(context.Context, json.RawMessage) error { return taken }
			},
			func(err error) bool { return errors.Is(err, taken) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.run(asking())
			before := contents(t, r.options.RunsDir)
			d, o := asking(), engine.ContinueOptions{Parent: runID, RunID: continuationID, Answer: raw(`"yes"`)}
			test.change(d, &o)
			if _, err := engine.New(r.options).Continue(t.Context(), r.graph(d), o); !test.check(err) {
				t.Errorf("%T: %v", err, err)
			}
			if diff := cmp.Diff(before, contents(t, r.options.RunsDir)); diff != "" {
				t.Error(diff)
			}
			result, _ := r.finish(r.answer(asking(), `"yes"`))
			r.want(result, runbundle.Completed, "", "")
		})
	}
}

// isA reports whether an error is, or wraps, one of a type.
func isA[E error](err error) bool {
	var want E
	return errors.As(err, &want)
}

func TestForcedContinuationIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(asking())
	changed := asking()
	changed.Revision = "2"
	r.events = nil
	run, err := engine.New(r.options).Continue(t.Context(), r.graph(changed), engine.ContinueOptions{
		Parent: runID, RunID: continuationID, Answer: raw(`1`), Force: true, Observe: r.start.Observe,
	})
	result, b := r.finish(r.took(run, err))
	r.want(result, runbundle.Completed, "", "")
	if got := payloadOf(t, b, runbundle.EventRunStarted); !strings.Contains(got, `"workflowSourceMismatch":true,"forced":true`) {
		t.Errorf("started with %s", got)
	}
}
