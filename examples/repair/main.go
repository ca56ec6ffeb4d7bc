// Command repair mends a text until it passes its checks: a control loop around
// an included workflow that is a control loop of its own. The inner loop checks
// one rule at a time and knows nothing of repairs; the outer one decides.
//
//	go run ./examples/repair run repair --input '"Hello\tworld"'
//	go run ./examples/repair graph repair
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

var outer = workflow.MustControlLoop(workflow.Loop{
	Decide: "decide", ReturnTo: "observe",
	Routes: []workflow.Route{
		{Name: "verify", To: "verification", Returns: []string{"verification.ready", "verification.defect"}},
		{Name: "repair", To: "repair", Returns: []string{"repair"}},
		{Name: "complete", To: "complete", Terminal: true},
		{Name: "blocked", To: "blocked", Terminal: true},
	},
})

// guard closes a repair that was tried on the same text before.
var guard = workflow.LoopGuard{Loop: outer, Facts: func(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
	s, err := workflow.OutputAs[state](c, "observe")
	return workflow.Facts{"text": s.Text, "verified": s.Verified}, err
}}

var repair = &workflow.Definition{
	Name: "repair", Revision: "1", StartAt: "observe",
	Nodes: []workflow.Node{
		workflow.Compute{ID: "observe", Run: look},
		workflow.Compute{ID: "decide", Run: decide},
		workflow.Compute{ID: "repair", Run: mend},
		workflow.Compute{ID: "complete", Run: finish},
		workflow.Compute{ID: "blocked", Run: finish},
	},
	Includes: []workflow.Include{{Mount: "verification", Workflow: verify, Input: currentText}},
	Edges:    append([]workflow.Edge{{From: "observe", To: "decide"}}, outer.Edges()...),
}

// state is what the outer loop observes.
type state struct {
	Text string `json:"text"`
	// Verified is what the verification of exactly this text found; nil if there
	// was none.
	Verified *progress `json:"verified,omitempty"`
}

func look(_ context.Context, c *workflow.Context) (any, error) {
	s := state{}
	var err error
	if _, mended := c.View.Output("repair"); mended {
		s.Text, err = workflow.OutputAs[string](c, "repair")
	} else {
		s.Text, err = workflow.InputAs[string](c)
	}
	if _, done := c.View.Output("verification"); !done || err != nil {
		return s, err
	}
	left, err := workflow.OutputAs[workflow.ExitResult](c, "verification")
	var p progress
	if err = errors.Join(err, json.Unmarshal(left.Output, &p)); err == nil && p.Text == s.Text {
		s.Verified = &p
	}
	return s, err
}

func decide(ctx context.Context, c *workflow.Context) (any, error) {
	s, err := workflow.OutputAs[state](c, "observe")
	if err != nil {
		return nil, err
	}
	standing, err := guard.Standing(ctx, c)
	if err != nil {
		return nil, err
	}
	d, err := standing.Admit(choose(s))
	if again := (*workflow.NoProgressError)(nil); errors.As(err, &again) {
		proof := standing.Blocked()
		d, err = standing.Admit(workflow.DecisionOutput{
			Route: "blocked", Reason: "the repair changed nothing: " + s.Verified.Broken,
			Blocker: proof.Blocker, Evidence: proof.Evidence, Alternatives: proof.Alternatives,
		})
	}
	return d, errors.Join(err, d.Check(outer.Choices(), "blocked"))
}

func choose(s state) workflow.DecisionOutput {
	switch {
	case s.Verified == nil:
		return workflow.DecisionOutput{Route: "verify", Reason: "this text was not verified"}
	case s.Verified.Broken != "":
		return workflow.DecisionOutput{Route: "repair", Reason: "it breaks the rule: " + s.Verified.Broken}
	default:
		return workflow.DecisionOutput{Route: "complete", Reason: "every rule holds for exactly this text"}
	}
}

func currentText(_ context.Context, c *workflow.Context) (any, error) {
	s, err := workflow.OutputAs[state](c, "observe")
	return s.Text, err
}

func mend(_ context.Context, c *workflow.Context) (any, error) {
	s, err := workflow.OutputAs[state](c, "observe")
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		if rule.name == s.Verified.Broken {
			return rule.mend(s.Text), nil
		}
	}
	return nil, errors.New("nobody knows the rule " + s.Verified.Broken)
}

// result is the output of the run.
type result struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

func finish(_ context.Context, c *workflow.Context) (any, error) {
	s, err1 := workflow.OutputAs[state](c, "observe")
	d, err2 := workflow.OutputAs[workflow.DecisionOutput](c, "decide")
	return result{Text: s.Text, Why: d.Reason}, errors.Join(err1, err2)
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "repair", Definitions: host.Definitions{Workflows: []*workflow.Definition{repair, verify}}}
}
