// Command twoturn asks an agent twice: for a draft, and then to shorten it. The
// second question holds the answer to the first, and is asked again until the
// text is short enough.
//
//	go run ./examples/twoturn run note --input '{"about":"the new cache"}' --agent ask
//	go run ./examples/twoturn run note --input '{"about":"the new cache"}' --agent script:examples/twoturn/answers.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"piworkflows/cli"
	"piworkflows/host"
	"piworkflows/workflow"
)

// topic is the run input.
type topic struct {
	About string `json:"about"`
}

// text is what both turns answer with.
type text struct {
	Text string `json:"text"`
}

const (
	expected = `{"text": the note}`
	// maxNote is how long the note may be, in characters.
	maxNote = 60
)

var note = &workflow.Definition{
	Name: "note", Revision: "1", StartAt: "draft",
	Nodes: []workflow.Node{
		workflow.Agent{ID: "draft", Prompt: askForDraft, ExpectedOutput: expected, Validate: anyText},
		workflow.Agent{ID: "shorten", Prompt: askToShorten, ExpectedOutput: expected, Validate: shortText},
	},
	Edges: []workflow.Edge{{From: "draft", To: "shorten"}},
}

func askForDraft(_ context.Context, c *workflow.Context) (string, error) {
	t, err := workflow.InputAs[topic](c)
	return "Write a release note about " + t.About + ".", err
}

func askToShorten(_ context.Context, c *workflow.Context) (string, error) {
	draft, err := workflow.OutputAs[text](c, "draft")
	return fmt.Sprintf("Shorten this note to %d characters:\n\n%s", maxNote, draft.Text), err
}

func anyText(_ context.Context, _ *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
	var t text
	if json.Unmarshal(output, &t) != nil || t.Text == "" {
		return nil, errors.New("answer with " + expected)
	}
	return output, nil
}

// shortText rejects what is too long: the agent is told, and tries again within
// the same attempt.
func shortText(ctx context.Context, c *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
	output, err := anyText(ctx, c, output)
	if err != nil {
		return nil, err
	}
	var t text
	if err := json.Unmarshal(output, &t); err != nil {
		return nil, fmt.Errorf("read the note: %w", err)
	}
	if n := utf8.RuneCountInString(t.Text); n > maxNote {
		return nil, fmt.Errorf("the note has %d characters, which is more than %d: leave out what matters least", n, maxNote)
	}
	return output, nil
}

func main() { os.Exit(cli.Main(program())) }

func program() cli.Options {
	return cli.Options{Name: "twoturn", Definitions: host.Definitions{Workflows: []*workflow.Definition{note}}}
}
