package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/view"
	"piworkflows/view/live"
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
		Use:   "view RUN",
		Short: "Draw one run: its graph, the way it took, and its steps",
		Long: "On a terminal the run is shown until you leave: go through its steps and nodes, open them,\n" +
			"and see it go on. Elsewhere, and with --once, it is printed as it is now.",
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
	cmd.Flags().BoolVar(&f.once, "once", false, "print it and end, also on a terminal")
	return cmd
}

func (a *App) showRun(ctx context.Context, paths host.Paths, s host.Store, runID string, f viewFlags) error {
	b, err := findRun(ctx, paths, s, runID)
	if err != nil {
		return err
	}
	standing, err := standingOf(ctx, s, b)
	if err != nil {
		return err
	}
	if a.flags.json() {
		return a.printRunJSON(b, standing, f.step)
	}
	if !f.once && a.wholeScreen() {
		return a.showLive(ctx, s, b, standing, f)
	}
	text, err := view.Run(b, view.RunOptions{
		DrawOptions: view.DrawOptions{Style: a.Style(), Folds: view.Folds{Full: f.full}}, Step: f.step, Standing: standing,
		Now: a.o.Clock.Now(),
	})
	if err != nil {
		return err
	}
	return a.print(text)
}

// wholeScreen reports whether a person sits at a terminal that can be drawn on.
func (a *App) wholeScreen() bool {
	in, ok := a.o.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && a.Interactive() && a.o.Getenv("TERM") != "dumb"
}

// standingOf is how a run stands if its record does not tell: by its row, or because
// no process runs it.
func standingOf(ctx context.Context, s host.Store, b *runbundle.Bundle) (runbundle.Status, error) {
	status, err := rowStanding(ctx, s, b)
	if status != "" || err != nil || b.State.Status.Terminal() {
		return status, err
	}
	if owned, err := runbundle.Owned(b.Dir); owned || err != nil {
		return "", err
	}
	return host.StatusInterrupted, nil // the row shows it once the claim runs out
}

// rowStanding is what the row of a run tells beyond its bundle; a run of another
// project has none here.
func rowStanding(ctx context.Context, s host.Store, b *runbundle.Bundle) (runbundle.Status, error) {
	if s == nil {
		return "", nil
	}
	row, err := s.Run(ctx, b.State.RunID)
	if missing := (*runqueue.NotFoundError)(nil); errors.As(err, &missing) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if status := host.RunStatus(row, b.Summary()); status != statusOf(b) {
		return runbundle.Status(status), nil
	}
	return "", nil
}

func (a *App) showLive(ctx context.Context, s host.Store, b *runbundle.Bundle, standing runbundle.Status, f viewFlags) error {
	return live.Run(ctx, live.Options{
		Bundle: b, Step: f.step, Standing: standing,
		Ask:   func(ctx context.Context, b *runbundle.Bundle) (runbundle.Status, error) { return standingOf(ctx, s, b) },
		Folds: view.Folds{Full: f.full}, Palette: a.palette(a.o.Stdout), Clock: a.o.Clock,
		Input: a.o.Stdin, Output: a.o.Stdout, Environ: os.Environ(),
	})
}

func (a *App) printRunJSON(b *runbundle.Bundle, standing runbundle.Status, step int) error {
	s := b.State
	steps := s.Steps
	if step > len(steps) {
		return &view.StepError{RunID: s.RunID, Step: step, Steps: len(steps)}
	}
	if step > 0 {
		steps = steps[:step]
	}
	return a.printJSON(viewResult{
		schema("view"), s.RunID, s.WorkflowName, s.RunTitle, cmp.Or(string(standing), statusOf(b)), s.StartedAt, s.FinishedAt, s.CurrentNode,
		s.WaitingOn, s.Error, s.ErrorCode, s.FinalOutput, b.Dir, b.Workflow, stepsOf(steps), updatesOf(s.Updates),
	})
}
