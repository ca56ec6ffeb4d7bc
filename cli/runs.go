package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/view"
)

// scannedRuns is how many rows are looked at for a status: it is the largest
// page of the run table.
const scannedRuns = 1000

// runStatuses are what runLine.Status may be.
var runStatuses = []string{
	"queued", "parked", "paused", "running", "waiting", "answered", "completed", "failed", "timed_out", "cancelled", "interrupted",
}

type runsFlags struct {
	status string
	limit  int
	watch  bool
}

type runsResult struct {
	head
	Runs []runLine `json:"runs"`
}

type runLine struct {
	RunID    string `json:"runId"`
	Workflow string `json:"workflow"`
	// Status is queued, parked, paused, or that of the bundle.
	Status string `json:"status"`
	// StartedAt and FinishedAt are absent until then.
	CreatedAt  string `json:"createdAt"`
	StartedAt  string `json:"startedAt,omitempty"`
	FinishedAt string `json:"finishedAt,omitempty"`
	Steps      int    `json:"steps"`
	// ChildOf is the request of a child run, Attempt counts its attempts.
	ChildOf string `json:"childOf,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Detached says that the run belongs to hosts.
	Detached bool `json:"detached,omitempty"`
	// ContinuationOf is the run whose answer started this one, ContinuedBy the one
	// that the answer to this run started.
	ContinuationOf string `json:"continuationOf,omitempty"`
	ContinuedBy    string `json:"continuedBy,omitempty"`
	Error          string `json:"error,omitempty"`
}

func (a *App) runsCommand() *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of the project, the newest first",
		Long: "The status of a run is one of " + strings.Join(runStatuses[:5], ", ") + ",\n" +
			strings.Join(runStatuses[5:], ", ") + ".",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(cmd, f.limit, scannedRuns); err != nil {
				return err
			}
			if f.status != "" && !slices.Contains(runStatuses, f.status) {
				return wrongUsage(cmd, "--status %.40q is none of %s", f.status, strings.Join(runStatuses, ", "))
			}
			return a.withExisting(cmd.Context(), func(paths host.Paths, s host.Store) error {
				if f.watch && s != nil {
					return a.watchList(cmd.Context(), s, controller.ChangeFilter{}, func() (listing, error) {
						lines, err := listRuns(cmd.Context(), paths, s, f)
						return listing{a.runTable(lines), runsResult{schema("runs"), lines}}, err
					})
				}
				lines, err := listRuns(cmd.Context(), paths, s, f)
				if err != nil {
					return err
				}
				return a.printRuns(lines)
			})
		},
	}
	cmd.Flags().StringVar(&f.status, "status", "", "only runs of this `status`")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "at most `n` runs, 1 to 1000")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "go on and show them anew whenever something changes")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(runStatuses, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// listRuns joins the run table of the project with what the bundles say. The
// folder of bundles is shared, so only the table tells whose a run is.
func listRuns(ctx context.Context, paths host.Paths, s host.Store, f runsFlags) ([]runLine, error) {
	if s == nil {
		return []runLine{}, nil
	}
	q := runqueue.Query{Limit: f.limit}
	if f.status != "" {
		q.Limit = scannedRuns
	}
	rows, err := s.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	lines := make([]runLine, 0, len(rows))
	for _, row := range rows {
		line := runLineOf(row, paths.Runs)
		if f.status != "" && line.Status != f.status {
			continue
		}
		if lines = append(lines, line); len(lines) == f.limit {
			break
		}
	}
	return lines, nil
}

// runLineOf reads the bundle of a row. One that is not there yet, or cannot be
// read, leaves what the row knows.
func runLineOf(row runqueue.Row, root string) runLine {
	line := runLine{
		RunID: row.RunID, Workflow: row.Workflow, Status: host.RunStatus(row, nil), CreatedAt: clock.Format(row.CreatedAt),
		ChildOf: row.ChildOf, Attempt: row.Attempt, Detached: row.Detached, Error: row.Error,
		ContinuationOf: row.ContinuationOf, ContinuedBy: row.ContinuedBy,
	}
	b, err := runbundle.Summarize(filepath.Join(root, row.RunID))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			line.Error = err.Error()
		}
		return line
	}
	line.Status, line.Steps = host.RunStatus(row, b), b.Steps
	line.StartedAt = b.StartedAt.String()
	if b.Status.Terminal() {
		line.FinishedAt = b.FinishedAt.String()
	}
	if b.Error != "" {
		line.Error = b.Error
	}
	return line
}

// statusOf is the status of a bundle, with interrupted told from failed.
func statusOf(b *runbundle.Bundle) string {
	if b.Interrupted() {
		return "interrupted"
	}
	return string(b.State.Status)
}

func (a *App) printRuns(lines []runLine) error {
	if a.flags.json() {
		return a.printJSON(runsResult{schema("runs"), lines})
	}
	if len(lines) == 0 {
		a.sayf("there are no such runs: start one with %s", a.command("run"))
		return nil
	}
	return a.print(a.runTable(lines))
}

func (a *App) runTable(lines []runLine) string {
	p := a.Style().Palette
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{
			view.Plain(l.RunID), view.Plain(l.Workflow), view.Status(runbundle.Status(l.Status), false, p),
			strconv.Itoa(l.Steps), a.sinceText(l.CreatedAt), took(l),
		}
	}
	return a.section([]view.Column{
		{Title: "RUN", Name: true}, {Title: "WORKFLOW", Flex: true}, {Title: "STATUS"}, {Title: "STEPS", Right: true},
		{Title: "AGE", Right: true}, {Title: "TOOK", Right: true},
	}, rows)
}

func (a *App) sinceText(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "-"
	}
	return a.since(t)
}

func took(l runLine) string {
	start, err := time.Parse(time.RFC3339, l.StartedAt)
	end, err2 := time.Parse(time.RFC3339, l.FinishedAt)
	if err != nil || err2 != nil {
		return "-"
	}
	return view.Duration(end.Sub(start))
}

// durationOf is a recorded duration.
func durationOf(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
