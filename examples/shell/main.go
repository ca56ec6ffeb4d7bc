// Command shell runs a program in its own process group and goes on by how it
// ended: a failed check is a branch of the graph, not the end of the run.
//
//	go run ./examples/shell run check --input '{"command":["go","vet","./..."]}'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

// job is the run input.
type job struct {
	Command []string `json:"command"`
}

var check = &workflow.Definition{
	Name: "check", Revision: "1", Input: checkJob, StartAt: "command",
	Nodes: []workflow.Node{
		workflow.Shell{ID: "command", Limits: workflow.Limits{Timeout: time.Minute}, Exec: command, Parse: output},
		workflow.Compute{ID: "passed", Run: passed},
		workflow.Compute{ID: "failed", Run: failed},
	},
	// Only a switch on the result is asked after an attempt that was not ok.
	Edges: []workflow.Edge{{From: "command", Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
		{Value: string(workflow.OK), To: "passed"},
		{Value: string(workflow.Failed), To: "failed"},
		{Value: string(workflow.TimedOut), To: "failed"},
	}}}},
}

func checkJob(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
	var j job
	if err := json.Unmarshal(input, &j); err != nil || len(j.Command) == 0 {
		return nil, errors.New(`give a command as a list, for example {"command":["go","vet","./..."]}`)
	}
	return input, nil
}

func command(_ context.Context, c *workflow.Context) (workflow.Command, error) {
	j, err := workflow.InputAs[job](c)
	if err != nil {
		return workflow.Command{}, err
	}
	return workflow.Command{Command: j.Command[0], Args: j.Command[1:]}, nil
}

func output(_ context.Context, _ *workflow.Context, r workflow.CommandResult) (any, error) {
	return strings.TrimSpace(r.Stdout), nil
}

// verdict is the final output of both branches.
type verdict struct {
	Passed bool   `json:"passed"`
	Told   string `json:"told"`
}

func passed(_ context.Context, c *workflow.Context) (any, error) {
	told, err := workflow.OutputAs[string](c, "command")
	return verdict{Passed: true, Told: told}, err
}

func failed(_ context.Context, c *workflow.Context) (any, error) {
	result, _ := c.View.Result("command")
	return verdict{Told: result.Error}, nil
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "shell", Definitions: host.Definitions{Workflows: []*workflow.Definition{check}}}
}
