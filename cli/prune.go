package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"piworkflows/clock"
	"piworkflows/host"
	"piworkflows/internal/wording"
	"piworkflows/view"
)

type pruneResult struct {
	head
	DryRun     bool        `json:"dryRun"`
	Events     int         `json:"events"`
	Effects    int         `json:"effects"`
	Deliveries int         `json:"deliveries"`
	Runs       []prunedRun `json:"runs"`
	// Resources are those whose deletion was requested.
	Resources []refLine `json:"resources"`
}

type prunedRun struct {
	RunID    string           `json:"runId"`
	Workflow string           `json:"workflow"`
	Status   string           `json:"status"`
	EndedAt  string           `json:"endedAt"`
	Bytes    int64            `json:"bytes"`
	Reason   host.PruneReason `json:"reason"`
}

func (a *App) pruneCommand() *cobra.Command {
	var keep keepFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune [--dry-run]",
		Short: "Remove what is old and over, as a host does every hour",
		Long: "Old events, the details of effects that have ended, runs that are over with their bundles,\n" +
			"and completed resources of controllers that say so. What goes on or waits stays.",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := keep.check(cmd); err != nil {
				return err
			}
			return a.prune(cmd, keep.retention(), dryRun)
		},
	}
	keep.register(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would go, and remove nothing")
	return cmd
}

func (a *App) prune(cmd *cobra.Command, r host.Retention, dryRun bool) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	with := a.withExisting
	if dryRun {
		with = a.withReader
	}
	return with(cmd.Context(), func(paths host.Paths, s host.Store) error {
		var p host.Pruned
		var failed error
		if s != nil {
			o := host.Options{Paths: paths, Catalog: catalog, Clock: a.o.Clock, Logger: a.Logger(), Retention: r}
			p, failed = host.Prune(cmd.Context(), o, s, dryRun)
		}
		if err := a.printPruned(p, dryRun); err != nil {
			return err
		}
		return failed
	})
}

func (a *App) printPruned(p host.Pruned, dryRun bool) error {
	if a.flags.json() {
		return a.printJSON(prunedOf(p, dryRun))
	}
	said := map[bool]string{false: "%s removed, %s cut, %s forgotten\n", true: "to go: %s; to be cut: %s; to be forgotten: %s\n"}
	text := fmt.Sprintf(said[dryRun], count(p.Events, "event"), count(p.Effects, "effect"),
		wording.Count(p.Deliveries, "delivery", "deliveries"))
	var rows [][]string
	for _, r := range p.Runs {
		rows = append(rows, []string{
			view.Plain(r.RunID), view.Plain(r.Workflow), string(r.Status), a.since(r.EndedAt),
			strconv.FormatInt((r.Bytes+1023)>>10, 10), string(r.Reason),
		})
	}
	text += a.section([]view.Column{
		{Title: "RUN", Flex: true},
		{Title: "WORKFLOW", Flex: true},
		{Title: "STATUS"},
		{Title: "ENDED", Right: true},
		{Title: "KIB", Right: true},
		{Title: "WHY"},
	}, rows)
	rows = nil
	for _, ref := range p.Resources {
		rows = append(rows, []string{view.Plain(ref.String())})
	}
	return a.print(text + a.section([]view.Column{{Title: "COMPLETED RESOURCE", Flex: true}}, rows))
}

func count(n int, noun string) string { return wording.Count(n, noun, noun+"s") }

func prunedOf(p host.Pruned, dryRun bool) pruneResult {
	r := pruneResult{
		head: schema("prune"), DryRun: dryRun, Events: p.Events, Effects: p.Effects, Deliveries: p.Deliveries,
		Runs: make([]prunedRun, len(p.Runs)), Resources: make([]refLine, len(p.Resources)),
	}
	for i, run := range p.Runs {
		r.Runs[i] = prunedRun{run.RunID, run.Workflow, string(run.Status), clock.Format(run.EndedAt), run.Bytes, run.Reason}
	}
	for i, ref := range p.Resources {
		r.Resources[i] = refOf(ref)
	}
	return r
}
