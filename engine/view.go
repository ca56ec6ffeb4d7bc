package engine

import (
	"bytes"
	"encoding/json"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// view lets callbacks read the record. Making one costs the same however long
// the run is. No step ends while a callback runs, so the latest outputs are
// those of the beginning of the attempt.
type view struct {
	w     *runbundle.Writer
	steps []runbundle.Step
}

var _ workflow.View = view{}

func (r *Run) view() view { return view{w: r.w, steps: r.w.Steps()} }

func (v view) Output(node string) (json.RawMessage, bool) {
	output, ok := v.w.Output(node)
	return bytes.Clone(output), ok
}

func (v view) Result(node string) (workflow.Result, bool) {
	r, ok := v.w.Result(node)
	return resultOf(r), ok
}

func (v view) Steps() int { return len(v.steps) }

func (v view) Step(i int) workflow.Step {
	return stepOf(v.steps[i])
}

func stepOf(s runbundle.Step) workflow.Step {
	return workflow.Step{
		AttemptID: s.AttemptID, NodeID: s.NodeID, NodeType: workflow.NodeType(s.NodeType), Outcome: workflow.Outcome(s.Outcome),
		Output: bytes.Clone(s.Output), Error: s.Error,
	}
}

func resultOf(r runbundle.Result) workflow.Result {
	return workflow.Result{
		AttemptID: r.AttemptID, NodeID: r.NodeID, NodeType: workflow.NodeType(r.NodeType), Outcome: workflow.Outcome(r.Outcome),
		StartedAt: r.StartedAt.Time, FinishedAt: r.FinishedAt.Time, DurationMs: r.DurationMs,
		Output: bytes.Clone(r.Output), Error: r.Error,
	}
}
