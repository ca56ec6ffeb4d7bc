package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/view"
	"piworkflows/workflow"
)

type graphResult struct {
	head
	Workflow string          `json:"workflow"`
	Source   workflow.Source `json:"source"`
	Digest   string          `json:"digest"`
	MaxSteps int             `json:"maxSteps"`
	// Graph is what a run records in workflow.json.
	Graph json.RawMessage `json:"graph"`
}

var graphFormats = []string{"ascii", "mermaid", "dot", "json"}

func (a *App) graphCommand() *cobra.Command {
	var format string
	var full bool
	cmd := &cobra.Command{
		Use:               "graph WORKFLOW",
		Short:             "Draw the expanded, validated graph of a workflow",
		Args:              exactArgs("WORKFLOW"),
		ValidArgsFunction: a.complete(a.workflowNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.json() && !cmd.Flags().Changed("format") {
				format = "json"
			}
			if !slices.Contains(graphFormats, format) {
				return wrongUsage(cmd, "--format %.40q is none of %s", format, strings.Join(graphFormats, ", "))
			}
			return a.showGraph(args[0], format, full)
		},
	}
	cmd.Flags().StringVar(&format, "format", "ascii", "`form` of the drawing: "+strings.Join(graphFormats, ", "))
	cmd.Flags().BoolVar(&full, "full", false, "draw what is in the included workflows too (ascii)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *App) showGraph(name, format string, full bool) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	g, err := catalog.Workflow(name)
	if err != nil {
		return err
	}
	if format == "json" {
		return a.printJSON(graphResult{schema("graph"), g.Name(), g.Source(), g.Digest(), g.MaxSteps(), g.Snapshot()})
	}
	drawable, err := view.GraphOf(g)
	if err != nil {
		return err
	}
	switch format {
	case "mermaid":
		return a.print(drawable.Mermaid())
	case "dot":
		return a.print(drawable.DOT())
	default:
		head := fmt.Sprintf("%s · revision %s · %s · at most %s\n\n",
			a.Style().Palette.Bold(g.Name()), g.Revision(), count(len(g.Nodes()), "node"), count(g.MaxSteps(), "step"))
		return a.print(head + drawable.Draw(view.DrawOptions{Style: a.Style(), Folds: view.Folds{Full: full}}))
	}
}
