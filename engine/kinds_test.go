package engine_test

import (
	"errors"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		node   workflow.Checkpoint
		status runbundle.Status
		output string
	}{
		{"plain", workflow.Checkpoint{ID: "ask"}, runbundle.Waiting, `{"summary":"checkpoint"}`},
		{"summary", workflow.Checkpoint{ID: "ask", Summary: "Which one?"}, runbundle.Waiting, `{"summary":"Which one?"}`},
		{"function", workflow.Checkpoint{ID: "ask", Summary: "x", Run: gives([]int{1}, nil)}, runbundle.Waiting, `[1]`},
		{"function that fails", workflow.Checkpoint{ID: "ask", Run: gives(1, errors.New("no"))}, runbundle.Failed, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result, b := r.run(flow(test.node, compute("later", gives(1, nil))))
			if result.Status != test.status || string(result.FinalOutput) != test.output || len(b.State.Steps) != 1 {
				t.Errorf("%s %s after %s", result.Status, result.FinalOutput, trail(b))
			}
			if waits := test.status == runbundle.Waiting; waits != (result.WaitingOn == "ask") || b.State.FinishedAt.IsZero() {
				t.Errorf("waiting on %q since %s", result.WaitingOn, b.State.FinishedAt)
			}
		})
	}
}

func TestFunctionActionLeavesAReceipt(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("no"), &engine.TimeoutError{}} {
		r := newRig(t)
		_, b := r.run(flow(workflow.Action{ID: "a", Run: gives(1, err)}))
		if got := b.State.Steps[0].Action; got == nil || got.ActionType != runbundle.ActionFunction || got.CommandReceipt != nil {
			t.Errorf("receipt %+v after %v", got, err)
		}
		if b.State.Steps[0].NodeType != "action" {
			t.Errorf("type %s", b.State.Steps[0].NodeType)
		}
	}
}
