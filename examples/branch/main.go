// Command branch chooses its way by what a node found out: a switch reads a
// field of the node's output.
//
//	go run ./examples/branch run triage --input '{"title":"Crash on start","labels":["bug"]}'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

// issue is the run input.
type issue struct {
	Title  string   `json:"title"`
	Labels []string `json:"labels"`
}

var triage = &workflow.Definition{
	Name: "triage", Revision: "1", Input: checkIssue, StartAt: "sort",
	Nodes: []workflow.Node{
		workflow.Compute{ID: "sort", Run: sort},
		workflow.Compute{ID: "fix", Run: say("fix now: %s")},
		workflow.Compute{ID: "plan", Run: say("plan for later: %s")},
		workflow.Compute{ID: "ask", Run: say("ask what is meant: %s")},
	},
	Edges: []workflow.Edge{{From: "sort", Switch: &workflow.Switch{On: "$.kind", Cases: []workflow.Case{
		{Value: "bug", To: "fix"},
		{Value: "feature", To: "plan"},
		{Value: "unclear", To: "ask"},
	}}}},
}

// checkIssue refuses an input before anything of the run is written.
func checkIssue(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
	var i issue
	if err := json.Unmarshal(input, &i); err != nil || i.Title == "" {
		return nil, errors.New(`give an issue with a title, for example {"title":"Crash on start"}`)
	}
	return input, nil
}

func sort(_ context.Context, c *workflow.Context) (any, error) {
	i, err := workflow.InputAs[issue](c)
	for _, kind := range []string{"bug", "feature"} {
		if slices.Contains(i.Labels, kind) {
			return map[string]string{"kind": kind}, err
		}
	}
	return map[string]string{"kind": "unclear"}, err
}

func say(format string) workflow.Func {
	return func(_ context.Context, c *workflow.Context) (any, error) {
		i, err := workflow.InputAs[issue](c)
		return fmt.Sprintf(format, i.Title), err
	}
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "branch", Definitions: host.Definitions{Workflows: []*workflow.Definition{triage}}}
}
