package enginebench

import (
	"context"

	"piworkflows/workflow"
)

// loop is a compute node that runs until the run has that many steps. Each step
// is told its number, from one, while it works.
func loop(steps int, tell func(step int)) (*workflow.Graph, error) {
	return workflow.Compile(&workflow.Definition{
		Name: "loop", Revision: "1", StartAt: "work", MaxSteps: steps,
		Nodes: []workflow.Node{
			workflow.Compute{ID: "work", Run: func(_ context.Context, c *workflow.Context) (any, error) {
				step := c.View.Steps() + 1
				if tell != nil {
					tell(step)
				}
				return map[string]any{"step": step, "again": step < steps-1}, nil
			}},
			workflow.Compute{ID: "end", Run: number(steps)},
		},
		Edges: []workflow.Edge{{From: "work", Switch: &workflow.Switch{
			On: "$.again", Cases: []workflow.Case{{Value: "true", To: "work"}, {Value: "false", To: "end"}},
		}}},
	})
}

// short is three compute nodes in a row.
func short() (*workflow.Graph, error) {
	return workflow.Compile(&workflow.Definition{
		Name: "short", Revision: "1", StartAt: "first",
		Nodes: []workflow.Node{
			workflow.Compute{ID: "first", Run: number(1)},
			workflow.Compute{ID: "second", Run: number(2)},
			workflow.Compute{ID: "third", Run: number(3)},
		},
		Edges: []workflow.Edge{{From: "first", To: "second"}, {From: "second", To: "third"}},
	})
}

func number(n int) workflow.Func {
	return func(context.Context, *workflow.Context) (any, error) { return n, nil }
}
