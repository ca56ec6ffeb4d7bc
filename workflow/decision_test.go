package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

var errNoProof = errors.New("name the check that passed")

// triage is a decision whose complete route needs evidence.
func triage() workflow.Decision {
	return workflow.Decision{
		ID:           "decide",
		Limits:       workflow.Limits{Timeout: time.Minute},
		StatusDetail: "deciding",
		Question:     func(context.Context, *workflow.Context) (string, error) { return "What now?\n", nil },
		Routes:       []string{"verify", "complete"},
		Check: func(_ context.Context, _ *workflow.Context, route string, output workflow.DecisionOutput) error {
			if route == "complete" && len(output.Evidence) == 0 {
				return errNoProof
			}
			return nil
		},
	}
}

func submit(t *testing.T, d workflow.Decision, output string) error {
	t.Helper()
	accepted, err := d.Node().Validate(t.Context(), &workflow.Context{}, json.RawMessage(output))
	if err == nil && string(accepted) != output {
		t.Errorf("accepted %s as %s", output, accepted)
	}
	return err
}

func TestDecisionNode(t *testing.T) {
	t.Parallel()
	n := triage().Node()
	if n.ID != "decide" || n.Timeout != time.Minute || n.StatusDetail != "deciding" || n.Type() != workflow.TypeAgent {
		t.Errorf("node = %s %v %q %s", n.ID, n.Timeout, n.StatusDetail, n.Type())
	}
	prompt, err := n.Prompt(t.Context(), &workflow.Context{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(prompt, "What now?\n\n") || !strings.Contains(prompt, `"verify" | "complete"`) {
		t.Errorf("prompt:\n%s", prompt)
	}
	for _, part := range []string{`"route": "verify" | "complete"`, `"reason"`, `"evidence"`, `"nextAction"`} {
		if !strings.Contains(n.ExpectedOutput, part) {
			t.Errorf("expected output %q lacks %s", n.ExpectedOutput, part)
		}
	}
}

func TestDecisionPassesTheErrorOfTheQuestion(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Question = func(context.Context, *workflow.Context) (string, error) { return "", errNoProof }
	if _, err := d.Node().Prompt(t.Context(), &workflow.Context{}); !errors.Is(err, errNoProof) {
		t.Errorf("error = %v", err)
	}
}

func TestDecisionAccepts(t *testing.T) {
	t.Parallel()
	tests := []string{
		`{"route":"verify","reason":"nothing was verified"}`,
		`{"route":"verify","reason":"r","evidence":null,"nextAction":null}`,
		`{"route":"verify","reason":"r","own":{"field":1}}`,
		`{"route":"complete","reason":"r","evidence":["check 7 passed"],"nextAction":"stop"}`,
		` {"route" : "verify", "reason" : "r"} `,
		decisionOf(strings.Repeat("é", 2000), evidence(32, 2000), strings.Repeat("é", 2000)),
	}
	for _, output := range tests {
		if err := submit(t, triage(), output); err != nil {
			t.Errorf("%.100s: %v", output, err)
		}
	}
}

func TestDecisionRejects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		output string
		want   []flaw
	}{
		"text":          {`"verify"`, []flaw{{"output", `answer with {"route": "verify" | "complete"`}}},
		"list":          {`[]`, []flaw{{"output", "no JSON object"}}},
		"null":          {`null`, []flaw{{"output", "no JSON object"}}},
		"broken":        {`{`, []flaw{{"output", "no JSON object"}}},
		"unknown route": {`{"route":"merge","reason":"r"}`, []flaw{{"route", `"merge" is not a route here: choose one of "verify" | "complete"`}}},
		"no route":      {`{"reason":"r"}`, []flaw{{"route", `"" is not a route`}}},
		"route type":    {`{"route":1,"reason":"r"}`, []flaw{{"route", "must be a string"}, {"route", "choose one of"}}},
		"no reason":     {`{"route":"verify"}`, []flaw{{"reason", "say why"}}},
		"blank reason":  {`{"route":"verify","reason":" \n"}`, []flaw{{"reason", "say why"}}},
		"long reason":   {decisionOf(strings.Repeat("é", 2001), nil, ""), []flaw{{"reason", "2001 characters are over the limit of 2000"}}},
		"long action":   {decisionOf("r", nil, strings.Repeat("a", 2001)), []flaw{{"nextAction", "limit of 2000"}}},
		"much evidence": {decisionOf("r", evidence(33, 1), ""), []flaw{{"evidence", "33 items are over the limit of 32"}}},
		"long evidence": {decisionOf("r", append(evidence(1, 1), strings.Repeat("a", 2001)), ""), []flaw{{"evidence[1]", "limit of 2000"}}},
		"evidence type": {`{"route":"verify","reason":"r","evidence":["a",1]}`, []flaw{{"evidence", "a list of strings"}}},
		"action type":   {`{"route":"verify","reason":"r","nextAction":{}}`, []flaw{{"nextAction", "a string"}}},
		"two spellings": {`{"route":"verify","reason":"r","Route":"complete"}`, []flaw{{"Route", `must be written "route"`}}},
		"broken rule":   {`{"route":"complete","reason":"r"}`, []flaw{{"route", `"complete" is not open now: name the check that passed`}}},
		"fingerprint":   {`{"route":"verify","reason":"r","Fingerprint":"f"}`, []flaw{{"Fingerprint", "leave it out"}}},
		"blocker type":  {`{"route":"verify","reason":"r","blocker":1,"alternatives":"a"}`, []flaw{{"blocker", "a string"}, {"alternatives", "a list of strings"}}},
		"everything": {
			`{"route":"complete","REASON":"","nextAction":1}`,
			[]flaw{{"REASON", ""}, {"nextAction", ""}, {"reason", ""}, {"route", "name the check"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRejected(t, submit(t, triage(), test.output), test.want)
		})
	}
}

func TestDecisionRuleCanBeTold(t *testing.T) {
	t.Parallel()
	if err := submit(t, triage(), `{"route":"complete","reason":"r"}`); !errors.Is(err, errNoProof) {
		t.Errorf("error = %v, want the error of the rule in it", err)
	}
	if err := submit(t, triage(), `{"route":"verify"}`); errors.Is(err, errNoProof) {
		t.Errorf("error = %v, want no rule in it", err)
	}
}

// Rules that were joined, and those of a blocked result, are told one by one.
func TestDecisionTellsEachBrokenRule(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Check = func(_ context.Context, c *workflow.Context, route string, output workflow.DecisionOutput) error {
		if c.RunID != "" || route != "verify" || output.Reason != "r" {
			t.Errorf("asked for %s, %+v", route, output)
		}
		return errors.Join(errNoProof, errors.Join(errors.New("no diff"), output.Blocked().Check()))
	}
	wantRejected(t, submit(t, d, `{"route":"verify","reason":"r"}`), []flaw{
		{"route", "name the check"}, {"route", "no diff"}, {"blocker", ""}, {"evidence", ""}, {"alternatives", ""},
	})
}

func TestDecisionForTheBlockedRoute(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Routes, d.Blocked = append(d.Routes, "blocked"), "blocked"
	n := d.Node()
	for _, part := range []string{`"blocker"`, `"alternatives"`} {
		if !strings.Contains(n.ExpectedOutput, part) {
			t.Errorf("expected output %q lacks %s", n.ExpectedOutput, part)
		}
	}
	if prompt, err := n.Prompt(t.Context(), &workflow.Context{}); err != nil || !strings.Contains(prompt, `Take "blocked" only if`) {
		t.Errorf("prompt:\n%s\n%v", prompt, err)
	}
	tests := []struct {
		output string
		want   []flaw
	}{
		{`{"route":"blocked","reason":"r","blocker":"b","evidence":["e"],"alternatives":["a"]}`, nil},
		{`{"route":"verify","reason":"r","blocker":"b"}`, nil},
		{`{"route":"blocked","reason":"r","evidence":[" "]}`, []flaw{{"blocker", ""}, {"evidence[0]", "blank"}, {"alternatives", ""}}},
		{`{"route":"blocked","blocker":"b","evidence":["e"]}`, []flaw{{"reason", ""}, {"alternatives", ""}}},
	}
	for _, test := range tests {
		wantRejected(t, submit(t, d, test.output), test.want)
	}
}

func TestDecisionRulesSeeDeclaredRoutesOnly(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Check = func(_ context.Context, _ *workflow.Context, route string, _ workflow.DecisionOutput) error {
		panic("asked for " + route)
	}
	if err := submit(t, d, `{"route":"merge","reason":"r"}`); err == nil {
		t.Error("accepted an unknown route")
	}
}

func TestDecisionWithoutRules(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Check = nil
	if err := submit(t, d, `{"route":"complete","reason":"r"}`); err != nil {
		t.Error(err)
	}
}

func TestDecisionKeepsItsRoutes(t *testing.T) {
	t.Parallel()
	d := triage()
	n := d.Node()
	d.Routes[0] = "merge"
	if _, err := n.Validate(t.Context(), nil, json.RawMessage(`{"route":"verify","reason":"r"}`)); err != nil {
		t.Error(err)
	}
}

func TestDecisionFlawsAreReportedWithTheDefinition(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		routes []string
		want   []flaw
	}{
		"valid":     {[]string{"a b", "cancelled"}, nil},
		"no routes": {nil, []flaw{{"nodes.decide.routes", "at least one"}}},
		"empty":     {[]string{"a", ""}, []flaw{{"nodes.decide.routes[1]", "required"}}},
		"no text":   {[]string{"\xff"}, []flaw{{"nodes.decide.routes[0]", "UTF-8"}}},
		"twice":     {[]string{"a", "b", "a"}, []flaw{{"nodes.decide.routes[2]", `"a" is declared twice`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := triage()
			d.Routes = test.routes
			def := chain("decide")
			def.Nodes = []workflow.Node{d.Node()}
			wantCheck(t, def, test.want)
		})
	}
	def := chain("decide")
	def.Nodes = []workflow.Node{workflow.Decision{
		ID: "decide", Question: triage().Question, Routes: []string{"a"}, Blocked: "b", Guard: &workflow.LoopGuard{},
	}.Node()}
	wantCheck(t, def, []flaw{
		{"nodes.decide.blocked", `"b" is none of the routes`},
		{"nodes.decide.guard.loop", "required"}, {"nodes.decide.guard.facts", "required"},
	})
	def.Nodes = []workflow.Node{workflow.Decision{ID: "decide"}.Node()}
	wantCheck(t, def, []flaw{{"nodes.decide.prompt", "required"}, {"nodes.decide.routes", "at least one"}})
}

func TestDecisionEdge(t *testing.T) {
	t.Parallel()
	cases := []workflow.Case{{Value: "b", To: "x"}, {Value: "a", To: "y"}, {Value: "extra", To: "z"}}
	got, err := workflow.DecisionEdge("decide", []string{"a", "b"}, cases)
	if err != nil {
		t.Fatal(err)
	}
	cases[0].To = "spoilt"
	if diff := cmp.Diff(choice("decide", "$.route", "b", "x", "a", "y", "extra", "z"), got); diff != "" {
		t.Errorf("edge (-want +got):\n%s", diff)
	}
}

func TestDecisionEdgeRefuses(t *testing.T) {
	t.Parallel()
	one := []workflow.Case{{Value: "a", To: "x"}}
	tests := map[string]struct {
		from   string
		routes []string
		cases  []workflow.Case
		want   []flaw
	}{
		"no source":     {"", []string{"a"}, one, []flaw{{"decisionEdge.from", "required"}}},
		"missing cases": {"n", []string{"a", "b", "c"}, one, []flaw{{"decisionEdge.cases", `"b"`}, {"decisionEdge.cases", `"c"`}}},
		"no routes":     {"n", nil, one, []flaw{{"decisionEdge.routes", "at least one"}}},
		"route twice":   {"n", []string{"a", "a"}, one, []flaw{{"decisionEdge.routes[1]", "twice"}}},
		"case twice":    {"n", []string{"a"}, append(one, one...), []flaw{{"decisionEdge.switch.cases.a", "twice"}}},
		"no target":     {"n", []string{"a"}, []workflow.Case{{Value: "a"}}, []flaw{{"decisionEdge.switch.cases.a", "required"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := workflow.DecisionEdge(test.from, test.routes, test.cases)
			wantFlaws(t, invalid(t, err).Problems, test.want)
			if got.Switch != nil || got.From != "" {
				t.Errorf("edge = %v beside the error", got)
			}
			if !strings.HasPrefix(err.Error(), "invalid workflow: mend ") {
				t.Errorf("message = %q", err)
			}
		})
	}
}

func decisionOf(reason string, evidence []string, action string) string {
	raw, err := json.Marshal(workflow.DecisionOutput{Route: "verify", Reason: reason, Evidence: evidence, NextAction: action})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func evidence(items, length int) []string {
	list := make([]string, items)
	for i := range list {
		list[i] = strings.Repeat(strconv.Itoa(i%10), length)
	}
	return list
}
