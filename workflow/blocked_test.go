package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"piworkflows/workflow"
)

func TestBlockedNeedsAllThree(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2001)
	proof := []string{"x"}
	tests := map[string]struct {
		blocked workflow.Blocked
		want    []flaw
	}{
		"all":             {workflow.Blocked{Blocker: "b", Evidence: proof, Alternatives: proof}, nil},
		"largest":         {workflow.Blocked{Blocker: long[2:], Evidence: evidence(32, 2000), Alternatives: evidence(32, 2000)}, nil},
		"no blocker":      {workflow.Blocked{Evidence: proof, Alternatives: proof}, []flaw{{"blocker", "what is in the way"}}},
		"blank blocker":   {workflow.Blocked{Blocker: " \n", Evidence: proof, Alternatives: proof}, []flaw{{"blocker", "what is in the way"}}},
		"no evidence":     {workflow.Blocked{Blocker: "b", Alternatives: proof}, []flaw{{"evidence", "proves"}}},
		"empty evidence":  {workflow.Blocked{Blocker: "b", Evidence: []string{}, Alternatives: proof}, []flaw{{"evidence", "proves"}}},
		"blank evidence":  {workflow.Blocked{Blocker: "b", Evidence: []string{"x", " "}, Alternatives: proof}, []flaw{{"evidence[1]", "blank"}}},
		"no alternatives": {workflow.Blocked{Blocker: "b", Evidence: proof}, []flaw{{"alternatives", "other ways"}}},
		"nothing":         {workflow.Blocked{}, []flaw{{"blocker", ""}, {"evidence", ""}, {"alternatives", ""}}},
		"too much": {
			workflow.Blocked{Blocker: long, Evidence: []string{long}, Alternatives: evidence(33, 1)},
			[]flaw{{"evidence[0]", "limit of 2000"}, {"alternatives", "limit of 32"}, {"blocker", "limit of 2000"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRejected(t, test.blocked.Check(), test.want)
		})
	}
}

// A function that decides is held to the same form as an agent.
func TestDecisionOutputCheck(t *testing.T) {
	t.Parallel()
	routes := []string{"verify", "blocked"}
	proof := []string{"x"}
	tests := map[string]struct {
		output workflow.DecisionOutput
		want   []flaw
	}{
		"plain":         {workflow.DecisionOutput{Route: "verify", Reason: "r"}, nil},
		"blocked":       {workflow.DecisionOutput{Route: "blocked", Reason: "r", Blocker: "b", Evidence: proof, Alternatives: proof}, nil},
		"fingerprint":   {workflow.DecisionOutput{Route: "verify", Reason: "r", Fingerprint: "f"}, nil},
		"unknown route": {workflow.DecisionOutput{Route: "merge", Reason: "r"}, []flaw{{"route", `"merge" is not a route`}}},
		"no proof":      {workflow.DecisionOutput{Route: "blocked", Reason: "r"}, []flaw{{"blocker", ""}, {"evidence", ""}, {"alternatives", ""}}},
		"everything": {
			workflow.DecisionOutput{NextAction: strings.Repeat("a", 2001), Blocker: strings.Repeat("b", 2001), Alternatives: evidence(33, 1)},
			[]flaw{{"reason", ""}, {"nextAction", ""}, {"blocker", ""}, {"alternatives", ""}, {"route", ""}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRejected(t, test.output.Check(routes, "blocked"), test.want)
		})
	}
	if err := (workflow.DecisionOutput{Route: "blocked", Reason: "r"}).Check(routes, ""); err != nil {
		t.Errorf("a loop without a blocked route: %v", err)
	}
}

func TestDecisionOutputAsJSON(t *testing.T) {
	t.Parallel()
	wantJSON(t, workflow.DecisionOutput{Route: "verify", Reason: "r"}, `{"route":"verify","reason":"r"}`)
	wantJSON(t, workflow.DecisionOutput{
		Route: "blocked", Reason: "r", Evidence: []string{"e"}, NextAction: "n", Blocker: "b", Alternatives: []string{"a"}, Fingerprint: "f",
	}, `{"route":"blocked","reason":"r","evidence":["e"],"nextAction":"n","blocker":"b","alternatives":["a"],"fingerprint":"f"}`)
	wantJSON(t, workflow.Blocked{Blocker: "b", Evidence: []string{"e"}, Alternatives: []string{"a"}},
		`{"blocker":"b","evidence":["e"],"alternatives":["a"]}`)
}

// wantRejected wants a *DecisionError with these problems; none at all for no
// error.
func wantRejected(t *testing.T, err error, want []flaw) {
	t.Helper()
	var rejected *workflow.DecisionError
	if err == nil {
		wantFlaws(t, nil, want)
		return
	}
	if !errors.As(err, &rejected) {
		t.Fatalf("error = %v, want a DecisionError", err)
	}
	wantFlaws(t, rejected.Problems, want)
	if rejected.ErrorCode() != "decision_rejected" {
		t.Errorf("code = %q", rejected.ErrorCode())
	}
	for _, p := range rejected.Problems {
		if !strings.Contains(err.Error(), "\n  "+p.Place+": "+p.Message) {
			t.Errorf("message lacks %v:\n%v", p, err)
		}
	}
}
