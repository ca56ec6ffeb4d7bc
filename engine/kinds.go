package engine

import (
	"context"
	"encoding/json"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// callback runs a function of the author; what it returns is the output.
func (a *attempt) callback(run workflow.Func) (json.RawMessage, error) {
	return call(a.ctx, a.r.e, a.what("the function"), func(ctx context.Context) (json.RawMessage, error) {
		value, err := run(ctx, a.c)
		if err != nil {
			return nil, err
		}
		return valueOf(a.what("output"), value)
	})
}

// function runs a function that changes something outside.
func (a *attempt) function(n workflow.Action) (json.RawMessage, error) {
	if err := a.outside(); err != nil {
		return nil, err
	}
	a.receipt = &runbundle.Receipt{ActionType: runbundle.ActionFunction}
	a.c.Publisher = a.publish
	return a.callback(n.Run)
}

// checkpoint computes what the run waits with.
func (a *attempt) checkpoint(n workflow.Checkpoint) (json.RawMessage, error) {
	if n.Run != nil {
		return a.callback(n.Run)
	}
	summary := n.Summary
	if summary == "" {
		summary = "checkpoint"
	}
	return valueOf(a.what("output"), map[string]string{"summary": summary})
}
