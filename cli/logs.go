package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piworkflows/host"
)

type logsResult struct {
	head
	RunID  string `json:"runId"`
	Status string `json:"status"`
	// Output is in the order of the steps and, within one, as it came.
	Output []outputPiece `json:"output"`
	// NotKept counts the ended steps that may have printed something of which there
	// is nothing any more.
	NotKept int `json:"notKept"`
}

// outputPiece is a piece of output; it need not end with a line.
type outputPiece struct {
	Node    string `json:"node"`
	Attempt string `json:"attemptId"`
	// Stream is stdout, stderr or agent, or error for why a step failed.
	Stream string `json:"stream,omitempty"`
	Text   string `json:"text,omitempty"`
	// At is when it came; absent if it is from the record.
	At string `json:"at,omitempty"`
	// Dropped says that the rest of the output of the attempt was not kept.
	Dropped bool `json:"dropped,omitempty"`
}

type logsFlags struct {
	node   string
	follow bool
}

func (a *App) logsCommand() *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Show what the commands and agents of a run print",
		Long: "Shows what the commands and agents of a run have printed so far; with --follow also what they\n" +
			"print from now on, until the run leaves its process; a run that is queued is waited for. What is printed is kept as long only; of a\n" +
			"run that ended, and of its older steps, the record has the output of commands that nothing parsed.\n\n" +
			"Each line begins with its node and a mark: | for output, ! for stderr, ✗ for why a step failed.\n" +
			"With --node lines are as they were printed. With -o json --follow each line is a result.",
		Args:              exactArgs("RUN"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withExisting(cmd.Context(), func(paths host.Paths, s host.Store) error {
				return a.showLogs(cmd.Context(), paths, s, args[0], f)
			})
		},
	}
	cmd.Flags().StringVar(&f.node, "node", "", "only what this `node` printed")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is printed from now on")
	return cmd
}

func (a *App) showLogs(ctx context.Context, paths host.Paths, s host.Store, runID string, f logsFlags) error {
	if f.follow {
		if err := a.awaitStart(ctx, paths, s, runID); err != nil {
			return err
		}
	}
	l, err := a.openLogs(ctx, paths, s, runID, f.node)
	if err != nil {
		return err
	}
	defer l.spool.Close()
	p := &logPrinter{app: a, logs: l, flags: f, write: a.print, lines: &outputLines{palette: a.Style().Palette, bare: f.node != ""}}
	if err := l.catchUp(p.piece); err != nil {
		return err
	}
	if f.follow && !l.ended() && l.held(ctx) {
		if err := l.follow(ctx, p.piece); err != nil {
			return err
		}
	}
	return p.end(ctx)
}
