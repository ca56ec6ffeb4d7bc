// Command echo is the smallest workflow: one node that returns the run input.
//
//	go run ./examples/echo run echo --input '{"text":"hello"}'
package main

import (
	"context"
	"os"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

var echo = &workflow.Definition{
	Name: "echo", Revision: "1", StartAt: "reply",
	Nodes: []workflow.Node{
		workflow.Compute{ID: "reply", Run: func(_ context.Context, c *workflow.Context) (any, error) {
			return c.Input, nil
		}},
	},
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "echo", Definitions: host.Definitions{Workflows: []*workflow.Definition{echo}}}
}
