package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// findings is what the loop below observes, and its only fact.
type findings struct {
	Open []string `json:"open"`
}

var tidyLoop = workflow.MustControlLoop(workflow.Loop{
	Decide:   "decide",
	ReturnTo: "observe",
	Routes: []workflow.Route{
		{Name: "mend", To: "mend", Returns: []string{"mended"}},
		{Name: "complete", To: "prepareCompleted", Terminal: true},
		{Name: "blocked", To: "prepareBlocked", Terminal: true},
	},
})

// tidy mends findings until none is left. An agent decides in a node of its own,
// assess, whose edge is taken by outcome: so an agent that fails or takes too
// long is a blocker like others, and not the end of the run. The node decide
// only repeats what was accepted and carries the edges of the loop.
func tidy(mend workflow.Func) *workflow.Definition {
	guard := workflow.LoopGuard{Loop: tidyLoop, Facts: func(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
		seen, err := workflow.OutputAs[findings](c, "observe")
		return workflow.Facts{"open": seen.Open}, err
	}}
	return &workflow.Definition{
		Name: "tidy", Revision: "1", StartAt: "observe",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "observe", Run: observeFindings},
			workflow.Decision{
				ID: "assess", Question: question, Routes: tidyLoop.Choices(), Blocked: "blocked", Check: onlyWhenDone, Guard: &guard,
			}.Node(),
			workflow.Compute{ID: "decide", Run: repeatDecision},
			workflow.Action{ID: "mend", Run: mend},
			workflow.Compute{ID: "mended", Run: say("")},
			workflow.Compute{ID: "prepareCompleted", Run: say("nothing is open")},
			workflow.Compute{ID: "prepareBlocked", Run: whyBlocked},
		},
		Edges: append([]workflow.Edge{
			{From: "observe", To: "assess"},
			byOutcome("assess", "decide", "prepareBlocked"),
			byOutcome("mend", "mended", "mended"),
		}, tidyLoop.Edges()...),
	}
}

// byOutcome leads an ok attempt one way, and one that failed or timed out
// another. A cancelled one leads nowhere: it ends the run.
func byOutcome(from, ok, otherwise string) workflow.Edge {
	return workflow.Edge{From: from, Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
		{Value: "ok", To: ok}, {Value: "failed", To: otherwise}, {Value: "timed_out", To: otherwise},
	}}}
}

// observeFindings reads what the latest mending left, or else the input.
func observeFindings(_ context.Context, c *workflow.Context) (any, error) {
	if left, err := workflow.OutputAs[findings](c, "mend"); err == nil {
		return left, nil
	}
	return workflow.InputAs[findings](c)
}

func question(_ context.Context, c *workflow.Context) (string, error) {
	seen, err := workflow.OutputAs[findings](c, "observe")
	return fmt.Sprintf("Open findings: %q. What now?", seen.Open), err
}

// onlyWhenDone holds the agent's word against what was observed.
func onlyWhenDone(_ context.Context, c *workflow.Context, route string, _ workflow.DecisionOutput) error {
	seen, err := workflow.OutputAs[findings](c, "observe")
	if err == nil && route == "complete" && len(seen.Open) > 0 {
		return fmt.Errorf("%d findings are open", len(seen.Open))
	}
	return err
}

// repeatDecision repeats the accepted decision, its fingerprint included.
func repeatDecision(_ context.Context, c *workflow.Context) (any, error) {
	return workflow.OutputAs[json.RawMessage](c, "assess")
}

func say(text string) workflow.Func {
	return func(context.Context, *workflow.Context) (any, error) { return text, nil }
}

// whyBlocked repeats the blocker of the decision, or says that there is none to
// be had.
func whyBlocked(_ context.Context, c *workflow.Context) (any, error) {
	if d, err := workflow.OutputAs[workflow.DecisionOutput](c, "assess"); err == nil {
		return d.Blocked(), nil
	}
	r, _ := c.View.Result("assess")
	b := workflow.Blocked{
		Blocker:      "no decision could be made",
		Evidence:     []string{fmt.Sprintf("attempt %s ended %s: %s", r.AttemptID, r.Outcome, r.Error)},
		Alternatives: []string{"deciding again would recover the controller through itself: start another run"},
	}
	return b, b.Check()
}

// answers hands in one answer after the other, and goes on to the next step when
// one is accepted. Without any left it fails.
type answers struct{ left []string }

func (a *answers) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	for len(a.left) > 0 {
		next := a.left[0]
		a.left = a.left[1:]
		err := r.Accept(ctx, json.RawMessage(next))
		if err == nil {
			return nil, nil
		}
		fmt.Println(err)
	}
	return nil, errors.New("the agent left")
}

// A decision in two nodes: an agent that cannot decide is a blocker, and routes
// are refused while the agent can still correct its answer.
func Example_twoNodes() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	mend := func(_ context.Context, c *workflow.Context) (any, error) {
		seen, err := workflow.OutputAs[findings](c, "observe")
		return findings{Open: slices.DeleteFunc(seen.Open, func(f string) bool { return f == "easy" })}, err
	}
	graph, err := workflow.Compile(tidy(mend))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := &answers{left: []string{
		`{"route": "complete", "reason": "it looks good"}`,
		`{"route": "mend", "reason": "two findings are open"}`,
		`{"route": "mend", "reason": "one finding is open"}`,
		`{"route": "mend", "reason": "one finding is still open, try harder"}`,
		`{"route": "blocked", "reason": "mending does not help"}`,
		`{"route": "blocked", "reason": "mending does not help", "blocker": "the hard finding needs a person",
		  "evidence": ["it is open after mending"], "alternatives": ["mend: leaves it as it is"]}`,
	}}
	run, err := engine.New(engine.Options{RunsDir: dir, Agents: agent}).Start(context.Background(), graph,
		engine.StartOptions{Input: json.RawMessage(`{"open": ["easy", "hard"]}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(run.Wait().FinalOutput))
	// Output:
	// the decision is not accepted: correct 1 problem
	//   route: "complete" is not open now: 2 findings are open
	// the decision is not accepted: correct 1 problem
	//   route: "mend" would repeat itself: it was chosen once before, and no fact changed since (open): choose one of "complete" | "blocked"
	// the decision is not accepted: correct 3 problems
	//   blocker: name what is in the way
	//   evidence: show what proves the blocker
	//   alternatives: name the other ways that you checked, and what rules each of them out
	// {"blocker":"the hard finding needs a person","evidence":["it is open after mending"],"alternatives":["mend: leaves it as it is"]}
}
