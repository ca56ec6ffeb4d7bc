package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type queueResult struct {
	head
	Rows     []queueRowLine `json:"rows"`
	Continue string         `json:"continue,omitempty"`
}

type queueRowLine struct {
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Queue      queueLine `json:"queue"`
}

type rebuildResult struct {
	head
	Resources int `json:"resources"`
}

func (a *App) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Look at the work queue, or make it anew",
		Args:  noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return wrongUsage(cmd, "say what to do: list or rebuild")
		},
	}
	cmd.AddCommand(a.queueListCommand(), a.queueRebuildCommand())
	return cmd
}

func (a *App) queueListCommand() *cobra.Command {
	q := controller.ListQuery{Queued: true}
	cmd := &cobra.Command{
		Use:               "list [CONTROLLER]",
		Short:             "List the resources that wait for a pass or have one",
		Args:              rangeArgs(0, "CONTROLLER"),
		ValidArgsFunction: a.complete(a.controllerNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Controller = args[0]
			}
			if err := checkLimit(cmd, q.Limit, 1000); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) error {
				return a.listQueue(cmd.Context(), s, q)
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most `n` rows, 1 to 1000")
	cmd.Flags().StringVar(&q.Continue, "continue", "", "go on after an earlier page, with the `token` that it gave")
	return cmd
}

func (a *App) listQueue(ctx context.Context, s host.Store, q controller.ListQuery) (err error) {
	var page controller.ListPage
	if s != nil {
		page, err = s.List(ctx, q)
	}
	if err == nil {
		err = a.knownOrUsed(q.Controller, len(page.Items))
	}
	if err != nil {
		return err
	}
	return a.printQueue(page)
}

func (a *App) printQueue(page controller.ListPage) error {
	if a.flags.json() {
		result := queueResult{head: schema("queue.list"), Rows: []queueRowLine{}, Continue: page.Continue}
		for _, item := range page.Items {
			m := item.Resource.Metadata
			result.Rows = append(result.Rows, queueRowLine{m.Controller, m.Key, queueOf(item.Queue)})
		}
		return a.printJSON(result)
	}
	if len(page.Items) == 0 {
		a.sayf("nothing waits for a pass")
		return nil
	}
	rows := make([][]string, len(page.Items))
	for i, item := range page.Items {
		rows[i] = a.queueCells(item)
	}
	if page.Continue != "" {
		a.sayf("there are more: --continue %s", page.Continue)
	}
	return a.print(a.section([]view.Column{
		{Title: "CONTROLLER"}, {Title: "KEY"}, {Title: "STATE"}, {Title: "LANE"}, {Title: "DUE", Right: true},
		{Title: "ERRORS", Right: true}, {Title: "LAST ERROR", Flex: true},
	}, rows))
}

func (a *App) queueCells(item controller.ListItem) []string {
	m, q := item.Resource.Metadata, item.Queue
	due := "-"
	if q.AvailableAt != nil {
		due = "now"
		if in := q.AvailableAt.Sub(a.o.Clock.Now()); in > 0 {
			due = view.Duration(in)
		}
	}
	return []string{
		view.Plain(m.Controller), view.Plain(m.Key), string(q.State), q.Lane.String(), due,
		strconv.Itoa(q.ConsecutiveErrors), view.Plain(q.LastError),
	}
}

func (a *App) queueRebuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Make the queue anew from the resources",
		Long: "Rows that nobody works on are thrown away with their delays and errors, and every\n" +
			"resource gets a pass in the background. Suspensions stay.",
		Args: rangeArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withExisting(cmd.Context(), func(_ host.Paths, s host.Store) error {
				if s == nil {
					return a.printRebuilt(0)
				}
				count, err := s.RebuildQueue(cmd.Context())
				if err != nil {
					return err
				}
				return a.printRebuilt(count)
			})
		},
	}
}

func (a *App) printRebuilt(n int) error {
	if a.flags.json() {
		return a.printJSON(rebuildResult{schema("queue.rebuild"), n})
	}
	return a.print(fmt.Sprintf("the queue was made anew: %s will get a pass\n", count(n, "resource")))
}
