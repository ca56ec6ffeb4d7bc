package workflow_test

import (
	"context"
	"fmt"

	"piworkflows/workflow"
)

// A control loop is authored as routes and becomes ordinary edges. The decision
// takes its choices from the loop, so that the two cannot drift apart.
func ExampleControlLoop() {
	loop, err := workflow.ControlLoop(workflow.Loop{
		Decide:   "decide",
		ReturnTo: "observe",
		Routes: []workflow.Route{
			{Name: "verify", To: "verify", Returns: []string{"verified"}},
			{Name: "complete", To: "complete", Terminal: true},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	step := func(context.Context, *workflow.Context) (any, error) { return "", nil }
	graph, err := workflow.Compile(&workflow.Definition{
		Name:     "release",
		Revision: "1",
		StartAt:  "observe",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "observe", Run: step},
			workflow.Decision{
				ID:       "decide",
				Question: func(context.Context, *workflow.Context) (string, error) { return "Is it verified?", nil },
				Routes:   loop.Choices(),
			}.Node(),
			workflow.Action{ID: "verify", Run: step},
			workflow.Compute{ID: "verified", Run: step},
			workflow.Compute{ID: "complete", Run: step},
		},
		Edges: append(loop.Edges(),
			workflow.Edge{From: "observe", To: "decide"},
			workflow.Edge{From: "verify", Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
				{Value: "ok", To: "verified"}, {Value: "failed", To: "verified"}, {Value: "timed_out", To: "verified"},
			}}},
		),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range graph.Edges() {
		if e.Switch == nil {
			fmt.Println(e.From, "->", e.To)
			continue
		}
		for _, c := range e.Switch.Cases {
			fmt.Println(e.From, "->", c.To, "if", e.Switch.On, "is", c.Value)
		}
	}
	// Output:
	// decide -> verify if $.route is verify
	// decide -> complete if $.route is complete
	// verified -> observe
	// observe -> decide
	// verify -> verified if $result.outcome is ok
	// verify -> verified if $result.outcome is failed
	// verify -> verified if $result.outcome is timed_out
}

// Everything that is wrong with a definition is reported at once.
func ExampleCompile() {
	step := func(context.Context, *workflow.Context) (any, error) { return "", nil }
	_, err := workflow.Compile(&workflow.Definition{
		Name:     "release",
		Revision: "1",
		StartAt:  "build",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "build", Run: step},
			workflow.Compute{ID: "publish"},
		},
		Edges: []workflow.Edge{{From: "build", To: "publsh"}},
	})
	fmt.Println(err)
	// Output:
	// invalid workflow "release": mend 3 problems
	//   nodes.publish.run: the function Run is required
	//   edges[0].to: there is no node "publsh": declare it or correct the name
	//   nodes.publish: no path leads here from "build": connect it or remove it
}
