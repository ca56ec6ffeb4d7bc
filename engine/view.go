package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// view lets callbacks read the record. Making one costs the same however long
// the run is. No step ends while a callback runs, so the latest outputs are
// those of the beginning of the attempt.
type view struct {
	w     *runbundle.Writer
	steps int
	// lost is told why a step could not be read back.
	lost func(error)
}

var _ workflow.View = view{}

// view is the record for those who cannot end the run: an observer, a cleanup.
func (r *Run) view() view {
	return r.viewFor(func(err error) {
		r.e.o.Logger.ErrorContext(r.base, "a step could not be read back", "runId", r.o.RunID, "error", err)
	})
}

// viewFor is the record for somebody whose work is worth nothing once it is
// lost.
func (r *Run) viewFor(lost func(error)) view { return view{w: r.w, steps: r.w.Steps(), lost: lost} }

func (v view) Output(node string) (json.RawMessage, bool) {
	output, ok := v.w.Output(node)
	return bytes.Clone(output), ok
}

func (v view) Result(node string) (workflow.Result, bool) {
	r, ok := v.w.Result(node)
	return resultOf(r), ok
}

func (v view) Steps() int { return v.steps }

// Step returns a step without anything in it, after telling so, if it cannot be
// read back.
func (v view) Step(i int) workflow.Step {
	if i < 0 || i >= v.steps {
		panic(fmt.Sprintf("step %d of %d is not there", i, v.steps)) // as a slice does
	}
	s, err := v.w.Step(i)
	if err != nil {
		v.lost(err)
	}
	return stepOf(s)
}

func (v view) Updates() []workflow.Published { return publishedOf(v.w.Updates()) }

func publishedOf(list []runbundle.Update) []workflow.Published {
	published := make([]workflow.Published, len(list))
	for i, u := range list {
		published[i] = workflow.Published{
			Update:   workflow.Update{Type: u.Type, Key: u.Key, Data: bytes.Clone(u.Data)},
			UpdateID: u.UpdateID, Seq: u.Seq, At: u.At.Time, NodeID: u.NodeID, AttemptID: u.AttemptID,
		}
	}
	return published
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
