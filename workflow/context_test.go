package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piworkflows/workflow"
)

// outputs is a view that holds outputs only.
type outputs map[string]string

func (o outputs) Output(node string) (json.RawMessage, bool) {
	raw, found := o[node]
	return json.RawMessage(raw), found
}
func (outputs) Result(string) (workflow.Result, bool) { return workflow.Result{}, false }
func (outputs) Steps() int                            { return 0 }
func (outputs) Step(int) workflow.Step                { return workflow.Step{} }
func (outputs) Updates() []workflow.Published         { return nil }

type pair struct{ X, Y int }

func TestInputAs(t *testing.T) {
	t.Parallel()
	got, err := workflow.InputAs[pair](&workflow.Context{Input: json.RawMessage(`{"x":1,"y":2}`)})
	if err != nil || got != (pair{1, 2}) {
		t.Errorf("InputAs = %v, %v", got, err)
	}
	_, err = workflow.InputAs[pair](&workflow.Context{Input: json.RawMessage(`[]`)})
	if err == nil || !strings.Contains(err.Error(), "decode the input") {
		t.Errorf("error = %v", err)
	}
}

func TestOutputAs(t *testing.T) {
	t.Parallel()
	c := &workflow.Context{RunID: "run-1", View: outputs{"good": `{"x":1,"y":2}`, "bad": `[]`}}
	if got, err := workflow.OutputAs[pair](c, "good"); err != nil || got != (pair{1, 2}) {
		t.Errorf("OutputAs = %v, %v", got, err)
	}
	for node, says := range map[string]string{"bad": "decode the output of node bad", "none": `node "none" has no output in run run-1`} {
		if _, err := workflow.OutputAs[pair](c, node); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error = %v, want %q in it", err, says)
		}
	}
}

func TestResultAsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 8, 15, 0, 130_000_000, time.UTC)
	r := workflow.Result{
		AttemptID: "at-1", NodeID: "n", NodeType: workflow.TypeCompute, Outcome: workflow.OK,
		StartedAt: at, FinishedAt: at.Add(2 * time.Millisecond), DurationMs: 2, Output: json.RawMessage(`4`),
	}
	const head = `{"attemptId":"at-1","nodeId":"n","nodeType":"compute","outcome":`
	const times = `"startedAt":"2027-01-05T08:15:00.130Z","finishedAt":"2027-01-05T08:15:00.132Z","durationMs":2`
	wantJSON(t, r, head+`"ok",`+times+`,"output":4}`)
	r.Outcome, r.Output, r.Error = workflow.Failed, nil, "broke"
	wantJSON(t, r, head+`"failed",`+times+`,"error":"broke"}`)
}

func wantJSON(t *testing.T, v any, want string) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil || string(got) != want {
		t.Errorf("JSON = %s, %v\nwant   %s", got, err, want)
	}
}
