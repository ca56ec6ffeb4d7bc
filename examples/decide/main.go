// Command decide lets an agent choose the next step of a control loop, and holds
// it to the facts. The decision takes two nodes. The agent answers in assess,
// which is left by its outcome: an agent that fails is a blocker like others, and
// not the end of the run. The node decide repeats what was accepted and carries
// the edges of the loop.
//
//	go run ./examples/decide run tidy --input '{"open":["typo","license"]}' --agent ask
//	go run ./examples/decide run tidy --input '{"open":["typo","license"]}' --agent script:examples/decide/answers.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

// findings are the run input, and what each look at the project finds.
type findings struct {
	Open []string `json:"open"`
}

var loop = workflow.MustControlLoop(workflow.Loop{
	Decide: "decide", ReturnTo: "observe",
	Routes: []workflow.Route{
		{Name: "mend", To: "mend", Returns: []string{"mended"}},
		{Name: "complete", To: "complete", Terminal: true},
		{Name: "blocked", To: "blocked", Terminal: true},
	},
})

// guard closes a route that was taken while the same findings were open.
var guard = workflow.LoopGuard{Loop: loop, Facts: func(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
	seen, err := workflow.OutputAs[findings](c, "observe")
	return workflow.Facts{"open": seen.Open}, err
}}

var tidy = &workflow.Definition{
	Name: "tidy", Revision: "1", StartAt: "observe",
	Nodes: []workflow.Node{
		workflow.Compute{ID: "observe", Run: observe},
		workflow.Decision{
			ID: "assess", Question: question, Routes: loop.Choices(), Blocked: "blocked", Check: onlyIfTrue, Guard: &guard,
		}.Node(),
		workflow.Compute{ID: "decide", Run: repeat},
		workflow.Action{ID: "mend", Run: mend},
		workflow.Compute{ID: "mended", Run: ended},
		workflow.Compute{ID: "complete", Run: func(context.Context, *workflow.Context) (any, error) { return "nothing is open", nil }},
		workflow.Compute{ID: "blocked", Run: blocker},
	},
	Edges: append([]workflow.Edge{
		{From: "observe", To: "assess"},
		byOutcome("assess", "decide", "blocked"),
		byOutcome("mend", "mended", "mended"),
	}, loop.Edges()...),
}

// byOutcome leads an ok attempt one way, and one that failed or timed out
// another. A cancelled one leads nowhere: it ends the run.
func byOutcome(from, ok, otherwise string) workflow.Edge {
	return workflow.Edge{From: from, Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
		{Value: string(workflow.OK), To: ok},
		{Value: string(workflow.Failed), To: otherwise},
		{Value: string(workflow.TimedOut), To: otherwise},
	}}}
}

func observe(_ context.Context, c *workflow.Context) (any, error) {
	if left, err := workflow.OutputAs[findings](c, "mend"); err == nil {
		return left, nil
	}
	return workflow.InputAs[findings](c)
}

func question(_ context.Context, c *workflow.Context) (string, error) {
	seen, err := workflow.OutputAs[findings](c, "observe")
	return fmt.Sprintf("Open findings: %s. What now?", strings.Join(seen.Open, ", ")), err
}

// onlyIfTrue holds the agent's word against what was observed.
func onlyIfTrue(_ context.Context, c *workflow.Context, route string, _ workflow.DecisionOutput) error {
	seen, err := workflow.OutputAs[findings](c, "observe")
	if err == nil && route == "complete" && len(seen.Open) > 0 {
		return fmt.Errorf("still open: %s", strings.Join(seen.Open, ", "))
	}
	return err
}

// repeat hands on the accepted decision with the fingerprint that the guard put
// there.
func repeat(_ context.Context, c *workflow.Context) (any, error) {
	return workflow.OutputAs[json.RawMessage](c, "assess")
}

// mend can do nothing about a license.
func mend(_ context.Context, c *workflow.Context) (any, error) {
	seen, err := workflow.OutputAs[findings](c, "observe")
	return findings{Open: slices.DeleteFunc(seen.Open, func(f string) bool { return f != "license" })}, err
}

// ended collects the outcomes of mend: only what ends ok leads back.
func ended(_ context.Context, c *workflow.Context) (any, error) {
	r, _ := c.View.Result("mend")
	return r.Outcome, nil
}

// blocker is the one that the agent named, or that there is no decision to be
// had.
func blocker(_ context.Context, c *workflow.Context) (any, error) {
	if d, err := workflow.OutputAs[workflow.DecisionOutput](c, "assess"); err == nil {
		return d.Blocked(), nil
	}
	r, _ := c.View.Result("assess")
	b := workflow.Blocked{
		Blocker:      "no decision could be made",
		Evidence:     []string{fmt.Sprintf("the agent ended as %s: %s", r.Outcome, r.Error)},
		Alternatives: []string{"ask once more: the loop would recover through itself, start another run instead"},
	}
	return b, b.Check()
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "decide", Definitions: host.Definitions{Workflows: []*workflow.Definition{tidy}}}
}
