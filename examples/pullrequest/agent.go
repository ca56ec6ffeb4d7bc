package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/engine"
	"piworkflows/examples/pullrequest/provider"
	"piworkflows/runbundle"
)

// canned stands for a model: it finds every TODO, and mends it by leaving the line
// out. The command line takes a real one with --agent.
type canned struct{}

// Execute implements engine.AgentExecutor.
func (canned) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	files := added(r.Prompt)
	answer := any(verdict{Findings: findTODO(files)})
	if r.Contract.NodeID == "repair" {
		answer = mend{Files: withoutTODO(files)}
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return nil, r.Accept(ctx, raw)
}

// added reads the lines that a diff adds to each file.
func added(diff string) (files []provider.File) {
	for line := range strings.Lines(diff) {
		if path, found := strings.CutPrefix(line, "+++ b/"); found {
			files = append(files, provider.File{Path: strings.TrimSpace(path)})
		} else if text, found := strings.CutPrefix(line, "+"); found && len(files) > 0 {
			files[len(files)-1].Content += text
		}
	}
	return files
}

func findTODO(files []provider.File) []finding {
	found := []finding{}
	for _, f := range files {
		for line := range strings.Lines(f.Content) {
			if strings.Contains(line, "TODO") {
				found = append(found, finding{Path: f.Path, Text: "left to do: " + strings.TrimSpace(line)})
			}
		}
	}
	return found
}

func withoutTODO(files []provider.File) (mended []provider.File) {
	for _, f := range files {
		var kept strings.Builder
		for line := range strings.Lines(f.Content) {
			if !strings.Contains(line, "TODO") {
				kept.WriteString(line)
			}
		}
		if kept.String() != f.Content {
			mended = append(mended, provider.File{Path: f.Path, Content: kept.String()})
		}
	}
	return mended
}
