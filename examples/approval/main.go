// Command approval asks a person before it goes on. The run ends at a checkpoint
// as waiting; an answer, minutes or weeks later, starts its continuation, which
// knows everything that was found out before.
//
//	go run ./examples/approval run release --input '{"version":"1.2.0"}'
//	go run ./examples/approval answer RUN '{"approve":true,"by":"Ada"}'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

// request is the run input.
type request struct {
	Version string `json:"version"`
}

// answer is the input of the continuation.
type answer struct {
	Approve bool   `json:"approve"`
	By      string `json:"by"`
}

var release = &workflow.Definition{
	Name: "release", Revision: "1", Input: check, StartAt: "notes",
	Nodes: []workflow.Node{
		workflow.Compute{ID: "notes", Run: notes},
		workflow.Checkpoint{ID: "approve", Run: question},
		workflow.Compute{ID: "read", Run: read},
		workflow.Compute{ID: "publish", Run: publish},
		workflow.Compute{ID: "drop", Run: drop},
	},
	Edges: []workflow.Edge{
		{From: "notes", To: "approve"},
		{From: "approve", To: "read"},
		{From: "read", Switch: &workflow.Switch{On: "$.approve", Cases: []workflow.Case{
			{Value: "true", To: "publish"},
			{Value: "false", To: "drop"},
		}}},
	},
}

// check sees what starts the run, and then the answer: what it refuses does not
// count, and can be given again.
func check(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
	var r request
	var a answer
	if json.Unmarshal(input, &r) == nil && r.Version != "" || json.Unmarshal(input, &a) == nil && a.By != "" {
		return input, nil
	}
	return nil, errors.New(`start with a version, {"version":"1.2.0"}, and answer who you are, {"approve":true,"by":"Ada"}`)
}

func notes(_ context.Context, c *workflow.Context) (any, error) {
	r, err := workflow.InputAs[request](c)
	return "Release " + r.Version, err
}

// question is what the waiting run shows.
func question(_ context.Context, c *workflow.Context) (any, error) {
	title, err := workflow.OutputAs[string](c, "notes")
	return map[string]string{"question": "Publish " + title + "?", "answer": `{"approve": true or false, "by": your name}`}, err
}

// read is the first node of the continuation, whose input is the answer.
func read(_ context.Context, c *workflow.Context) (any, error) {
	return workflow.InputAs[answer](c)
}

func publish(_ context.Context, c *workflow.Context) (any, error) { return told(c, "published by %s") }

func drop(_ context.Context, c *workflow.Context) (any, error) { return told(c, "dropped by %s") }

func told(c *workflow.Context, format string) (string, error) {
	title, err1 := workflow.OutputAs[string](c, "notes")
	a, err2 := workflow.OutputAs[answer](c, "read")
	return title + " was " + fmt.Sprintf(format, a.By), errors.Join(err1, err2)
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "approval", Definitions: host.Definitions{Workflows: []*workflow.Definition{release}}}
}
