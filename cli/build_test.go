package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"piworkflows/workflow"
)

// The workflow build runs commands that print: it tells the person, compiles
// with progress, and checks.

type buildInput struct {
	// Wait is a named pipe that the compiler reads a line from in the middle of its
	// work; Fail makes the check fail.
	Wait string `json:"wait,omitempty"`
	Fail bool   `json:"fail,omitempty"`
}

var buildWorkflow = &workflow.Definition{
	Name: "build", Revision: "1", StartAt: "tell",
	Input: func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		return input, json.Unmarshal(input, new(buildInput))
	},
	Nodes: []workflow.Node{
		workflow.Notify{ID: "tell", Message: gives("we build\x1b[31m\nall of it")},
		workflow.Shell{ID: "compile", Exec: compile, Updates: &workflow.LineUpdates{Parse: compiled}},
		workflow.Shell{ID: "check", Exec: check, Parse: func(context.Context, *workflow.Context, workflow.CommandResult) (any, error) {
			return "all is well", nil
		}},
	},
	Edges: []workflow.Edge{{From: "tell", To: "compile"}, {From: "compile", To: "check"}},
}

// compile prints before and after it waits, the last line without an end.
func compile(_ context.Context, c *workflow.Context) (workflow.Command, error) {
	in, err := workflow.InputAs[buildInput](c)
	if err != nil {
		return workflow.Command{}, err
	}
	script := `echo 0/4; printf '\033[31mred\033[0m\tx\a\n' >&2`
	if in.Wait != "" {
		script += `; read -r line < "$0"`
		err = callBack()
	}
	return workflow.Command{Command: "sh", Args: []string{"-c", script + `; echo 2/4; echo 4/4; printf 'no end'`, in.Wait}}, err
}

// callBack tells the test that the node is at work.
func callBack() error {
	c, err := net.Dial("tcp", os.Getenv(callbackEnv))
	if err != nil {
		return err
	}
	return c.Close()
}

// compiled reads lines such as 2/4.
func compiled(_ context.Context, _ *workflow.Context, line workflow.Line) ([]workflow.Update, error) {
	var done, all float64
	if n, _ := fmt.Sscanf(line.Text, "%g/%g", &done, &all); n < 2 {
		return nil, nil
	}
	p := workflow.Progress{Status: workflow.ProgressRunning, Label: "compile", Completed: &done, Total: &all, Unit: "files"}
	if done == all {
		p.Status = workflow.ProgressCompleted
	}
	u, err := p.Update("compile")
	return []workflow.Update{u}, err
}

func check(_ context.Context, c *workflow.Context) (workflow.Command, error) {
	in, err := workflow.InputAs[buildInput](c)
	script := "echo checked"
	if in.Fail {
		script = "echo it is broken >&2; exit 3"
	}
	return workflow.Command{Command: "sh", Args: []string{"-c", script}}, err
}
