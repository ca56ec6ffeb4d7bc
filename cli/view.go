package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/view"
)

type viewResult struct {
	head
	RunID       string          `json:"runId"`
	Workflow    string          `json:"workflow"`
	Title       string          `json:"title,omitempty"`
	Status      string          `json:"status"`
	StartedAt   runbundle.Time  `json:"startedAt"`
	FinishedAt  runbundle.Time  `json:"finishedAt,omitzero"`
	CurrentNode string          `json:"currentNode,omitempty"`
	WaitingOn   string          `json:"waitingOn,omitempty"`
	Error       string          `json:"error,omitempty"`
	ErrorCode   string          `json:"errorCode,omitempty"`
	FinalOutput json.RawMessage `json:"finalOutput,omitempty"`
	Bundle      string          `json:"bundle"`
	// Graph is the recorded definition (workflow.json of the bundle).
	Graph json.RawMessage `json:"graph"`
	Steps []stepLine      `json:"steps"`
	// Updates are the latest of each type and key, in the order of their places in
	// the trace.
	Updates []updateLine `json:"updates"`
}

type viewFlags struct {
	step       int
	once, full bool
}

func (a *App) viewCommand() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:               "view RUN",
		Short:             "Draw one run: its graph, the way it took, and its steps",
		Args:              exactArgs("RUN"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("step") && f.step < 1 {
				return wrongUsage(cmd, "--step %d: steps are counted from one", f.step)
			}
			return a.withExisting(cmd.Context(), func(paths host.Paths, s host.Store) error {
				return a.showRun(cmd.Context(), paths, s, args[0], f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.full, "full", false, "draw what is in all included workflows, not only where the run is")
	cmd.Flags().IntVar(&f.step, "step", 0, "as it was after step `n`, with that step in full")
	// The drawing is always made once; the flag is for scripts that will still
	// want that when a terminal gets a live view.
	cmd.Flags().BoolVar(&f.once, "once", true, "draw once and end")
	return cmd
}

func (a *App) showRun(ctx context.Context, paths host.Paths, s host.Store, runID string, f viewFlags) error {
	b, err := findRun(ctx, paths, s, runID)
	if err != nil {
		return err
	}
	if a.flags.json() {
		return a.printRunJSON(b, f.step)
	}
	text, err := view.Run(b, view.RunOptions{
		DrawOptions: view.DrawOptions{Style: a.Style(), Folds: view.Folds{Full: f.full}}, Step: f.step, Now: a.o.Clock.Now(),
	})
	if err != nil {
		return err
	}
	return a.print(text)
}

func (a *App) printRunJSON(b *runbundle.Bundle, step int) error {
	s := b.State
	steps := s.Steps
	if step > len(steps) {
		return &view.StepError{RunID: s.RunID, Step: step, Steps: len(steps)}
	}
	if step > 0 {
		steps = steps[:step]
	}
	return a.printJSON(viewResult{
		schema("view"), s.RunID, s.WorkflowName, s.RunTitle, statusOf(b), s.StartedAt, s.FinishedAt, s.CurrentNode,
		s.WaitingOn, s.Error, s.ErrorCode, s.FinalOutput, b.Dir, b.Workflow, stepsOf(steps), updatesOf(s.Updates),
	})
}
