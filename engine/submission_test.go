package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func notZero(_ context.Context, _ *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
	if string(output) == "0" {
		return nil, errors.New("zero is too few")
	}
	return output, nil
}

// text writes a text as a JSON string, its bytes as they are.
func text(s string) json.RawMessage {
	return raw(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`)
}

func TestSubmissionsAsText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		submission json.RawMessage
		output     string
	}{
		"JSON in a text":    {text(`{"n": 7}`), `{"n":7}`},
		"fenced with prose": {text("Well:\n```json\n{\"n\": 7}\n```\nDone."), `{"n":7}`},
		"scalar":            {text("7"), "7"},
		"prose":             {text("I counted seven."), `"I counted seven."`},
		"string in a text":  {text(`"seven"`), `"seven"`},
		"prototype":         {raw(`{"__proto__":{"n":7},"constructor":1}`), `{"__proto__":{"n":7},"constructor":1}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.Agents = submits(t, string(test.submission))
			result, _ := r.run(flow(asks(nil)))
			r.want(result, runbundle.Completed, "", "")
			if string(result.FinalOutput) != test.output {
				t.Errorf("output %s, want %s", result.FinalOutput, test.output)
			}
		})
	}
}

// Whatever an agent hands in, the step goes on: it is told, and answers again.
func TestBadSubmissionsAreRejectedInTheSameAttempt(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", canonical.MaxDepth+1) + strings.Repeat("]", canonical.MaxDepth+1)
	deeper := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	large := `"` + strings.Repeat("x", workflow.MaxValueBytes) + `"`
	tests := map[string]struct {
		submission json.RawMessage
		reason     string
	}{
		"no JSON":               {raw(`{"n":`), "submission: invalid JSON"},
		"nothing":               {raw(``), "submission: invalid JSON"},
		"not UTF-8":             {raw("{\"a\":\"\xff\"}"), "at /a (byte 6): byte 0xff is not valid UTF-8"},
		"text that is no UTF-8": {text("so \xc3 {}"), "not valid UTF-8"},
		"lone surrogate":        {raw(`["\ud800"]`), "at /0"},
		"key twice":             {raw(`{"a":1,"a":2}`), "at /a"},
		"too deep":              {raw(deep), "nested deeper than 512 levels"},
		"too deep in a text":    {text(deep), "JSON in the text of the submission: invalid JSON"},
		"much too deep":         {text("```json\n" + deeper + "\n```"), "nested deeper than 512 levels"},
		"key twice in a text":   {text(`So: {"a":1,"a":2}`), "at /a"},
		"too large":             {raw(large), "over the limit of 1048576"},
		"too large a text":      {text(`{"a":` + large + `}`), "over the limit of 1048576"},
		"zero":                  {raw("0"), "zero is too few"},
		"zero in a text":        {text("```\n0\n```"), "zero is too few"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
				e := wantErr[*engine.SubmissionError](t, q.Accept(ctx, test.submission))
				if e.NodeID != "ask" || !strings.Contains(e.Error(), test.reason) || len(e.Error()) > 1000 {
					t.Errorf("rejected with %+v", e)
				}
				return nil, q.Accept(ctx, raw("1"))
			})
			result, b := r.run(flow(asks(notZero)))
			r.want(result, runbundle.Completed, "", "")
			if len(b.State.Steps) != 1 {
				t.Errorf("steps %s", trail(b))
			}
		})
	}
}

// An agent that wrote broken JSON learns that, besides what the validator makes
// of the text that it was taken for.
func TestRejectionTellsWhyATextWasTakenForText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		e := wantErr[*engine.SubmissionError](t, q.Accept(ctx, text(`{"route":"go","reason":'why not'}`)))
		if decision := wantErr[*workflow.DecisionError](t, e); !strings.Contains(e.Error(), decision.Error()) {
			t.Errorf("rejected with %v", e)
		}
		if where := wantErr[*canonical.Error](t, e.Text); where.Pointer != "/reason" || !strings.Contains(e.Error(), "/reason") {
			t.Errorf("the text was read as text because %v, told as %v", e.Text, e)
		}
		return nil, q.Accept(ctx, text("```json\n{\"route\":\"go\",\"reason\":\"why not\"}\n```"))
	})
	result, _ := r.run(decides(workflow.DecisionLimit{}))
	r.want(result, runbundle.Completed, "", "")
}

func TestLargestSubmission(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		largest := `"` + strings.Repeat("x", workflow.MaxValueBytes-2) + `"`
		over := wantErr[*limit.Error](t, q.Accept(ctx, raw(largest+" ")))
		if over.Size != workflow.MaxValueBytes+1 {
			t.Errorf("limit %+v", over)
		}
		return nil, q.Accept(ctx, raw(largest))
	})
	result, _ := r.run(flow(asks(nil)))
	r.want(result, runbundle.Completed, "", "")
	if len(result.FinalOutput) != workflow.MaxValueBytes {
		t.Errorf("%d bytes", len(result.FinalOutput))
	}
}
