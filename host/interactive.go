package host

import (
	"context"
	"encoding/json"

	"piworkflows/engine"
)

// RunWorkflow runs one workflow in this process, as a row of the run table like
// every other run, and waits for its end. An ended ctx cancels the run. Input
// that is refused is an error and nothing is written.
//
// A run whose record cannot be completed, on a full disk for example, is an error
// and parked; one that Options.Control parked is not an error. ResumeRun goes on
// with either.
func RunWorkflow(ctx context.Context, o Options, store Store, name string, input json.RawMessage) (engine.Result, error) {
	o = o.withDefaults()
	graph, err := o.Catalog.Workflow(name)
	if err != nil {
		return engine.Result{}, err
	}
	s := newSolo(o, store, graph, "", input)
	return s.launch(ctx, func() (*engine.Run, error) {
		return s.engine.Start(ctx, graph, engine.StartOptions{
			RunID: s.runID, Input: input, Reserve: s.reserve, Fence: s.fence, Observe: s.observer(),
		})
	})
}

// CheckRun returns the error with which RunWorkflow would refuse a run. It needs
// no store, so that a refusal leaves none behind.
func CheckRun(ctx context.Context, o Options, name string, input json.RawMessage) error {
	o = o.withDefaults()
	graph, err := o.Catalog.Workflow(name)
	if err != nil {
		return err
	}
	return engine.New(o.engine()).Check(ctx, graph, input)
}
