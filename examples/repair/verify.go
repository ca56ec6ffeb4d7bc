package main

import (
	"context"
	"fmt"
	"strings"

	"piworkflows/workflow"
)

// rule is what a text must obey, and what mends it.
type rule struct {
	name   string
	broken func(text string) bool
	mend   func(text string) string
}

var rules = []rule{
	{"no tabs", contains("\t"), replace("\t", " ")},
	{"no double spaces", contains("  "), replace("  ", " ")},
	{"ends with a full stop", func(t string) bool { return !strings.HasSuffix(t, ".") }, func(t string) string { return t + "." }},
	// Nothing here knows how to shorten a text.
	{"at most 40 characters", func(t string) bool { return len(t) > 40 }, func(t string) string { return t }},
}

func contains(part string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, part) }
}

func replace(part, with string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, part, with) }
}

// progress is what the inner loop knows: the text, how many rules it passed, and
// the rule that it broke.
type progress struct {
	Text   string `json:"text"`
	Passed int    `json:"passed"`
	Broken string `json:"broken,omitempty"`
}

var inner = workflow.MustControlLoop(workflow.Loop{
	Decide: "decide", ReturnTo: "observe",
	Routes: []workflow.Route{
		{Name: "check", To: "check", Returns: []string{"check"}},
		{Name: "ready", To: "ready", Terminal: true},
		{Name: "defect", To: "defect", Terminal: true},
	},
})

// verify checks one rule after the other and leaves at the first that is broken.
var verify = &workflow.Definition{
	Name: "verify", Revision: "1", StartAt: "observe", MaxSteps: 3*len(rules) + 3,
	Nodes: []workflow.Node{
		workflow.Compute{ID: "observe", Run: lookAtChecks},
		workflow.Compute{ID: "decide", Run: decideCheck},
		workflow.Compute{ID: "check", Run: checkRule},
		workflow.Compute{ID: "ready", Run: observed},
		workflow.Compute{ID: "defect", Run: observed},
	},
	Edges: append([]workflow.Edge{{From: "observe", To: "decide"}}, inner.Edges()...),
	Exits: []workflow.Exit{{Name: "ready", From: "ready"}, {Name: "defect", From: "defect"}},
}

func lookAtChecks(_ context.Context, c *workflow.Context) (any, error) {
	if _, checked := c.View.Output("check"); checked {
		return workflow.OutputAs[progress](c, "check")
	}
	text, err := workflow.InputAs[string](c)
	return progress{Text: text}, err
}

func decideCheck(_ context.Context, c *workflow.Context) (any, error) {
	p, err := workflow.OutputAs[progress](c, "observe")
	switch {
	case p.Broken != "":
		return workflow.DecisionOutput{Route: "defect", Reason: "the text breaks the rule: " + p.Broken}, err
	case p.Passed == len(rules):
		return workflow.DecisionOutput{Route: "ready", Reason: fmt.Sprintf("all %d rules hold", p.Passed)}, err
	default:
		return workflow.DecisionOutput{Route: "check", Reason: "not checked yet: " + rules[p.Passed].name}, err
	}
}

func checkRule(_ context.Context, c *workflow.Context) (any, error) {
	p, err := workflow.OutputAs[progress](c, "observe")
	if err != nil {
		return nil, err
	}
	if rule := rules[p.Passed]; rule.broken(p.Text) {
		p.Broken = rule.name
	} else {
		p.Passed++
	}
	return p, nil
}

func observed(_ context.Context, c *workflow.Context) (any, error) {
	return workflow.OutputAs[progress](c, "observe")
}
