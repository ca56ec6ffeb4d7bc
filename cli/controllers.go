package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type controllersFlags struct {
	query controller.ListQuery
	watch bool
}

type controllersResult struct {
	head
	Resources []resourceLine `json:"resources"`
	Continue  string         `json:"continue,omitempty"`
	// Deleted is only in a line of --watch.
	Deleted []refLine `json:"deleted,omitempty"`
}

func (a *App) controllersCommand() *cobra.Command {
	var f controllersFlags
	cmd := &cobra.Command{
		Use:               "controllers [CONTROLLER]",
		Short:             "List resources with their readiness",
		Args:              rangeArgs(0, "CONTROLLER"),
		ValidArgsFunction: a.complete(a.controllerNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.query.Controller = args[0]
			}
			if err := checkLimit(cmd, f.query.Limit, 1000); err != nil {
				return err
			}
			return a.withExisting(cmd.Context(), func(_ host.Paths, s host.Store) error {
				return a.listResources(cmd.Context(), s, f)
			})
		},
	}
	cmd.Flags().IntVar(&f.query.Limit, "limit", 100, "at most `n` resources, 1 to 1000")
	cmd.Flags().StringVar(&f.query.Continue, "continue", "", "go on after an earlier page, with the `token` that it gave")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on with a line for each resource that changes")
	return cmd
}

// checkLimit refuses a --limit out of its range.
func checkLimit(cmd *cobra.Command, limit, most int) error {
	if limit < 1 || limit > most {
		return wrongUsage(cmd, "--limit %d is not between 1 and %d", limit, most)
	}
	return nil
}

func (a *App) listResources(ctx context.Context, s host.Store, f controllersFlags) error {
	var page controller.ListPage
	var from controller.Cursor
	if s != nil {
		var err error
		if from, err = s.Head(ctx); err != nil {
			return err
		}
		if page, err = s.List(ctx, f.query); err != nil {
			return err
		}
	}
	if err := a.knownOrUsed(f.query.Controller, len(page.Items)); err != nil {
		return err
	}
	var lines *view.Lines
	if f.watch {
		lines = view.NewLines(watchColumns(), a.Style())
	}
	if err := a.printResources(page, lines); err != nil || !f.watch || s == nil {
		return err
	}
	return a.watchResources(ctx, s, from, f, lines)
}

// knownOrUsed refuses the name of a controller that is not known and has no
// resources either.
func (a *App) knownOrUsed(name string, resources int) error {
	if name == "" || resources > 0 {
		return nil
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	_, err = catalog.Controllers.Get(name)
	return err
}

// printResources writes a page, as the beginning of a table that goes on if
// there is one.
func (a *App) printResources(page controller.ListPage, stream *view.Lines) error {
	lines := make([]resourceLine, len(page.Items))
	for i, item := range page.Items {
		lines[i] = lineOf(item.Resource, item.Queue)
	}
	result := controllersResult{head: schema("controllers"), Resources: lines, Continue: page.Continue}
	switch {
	case a.flags.json() && stream != nil:
		return a.streamJSON(result)
	case a.flags.json():
		return a.printJSON(result)
	case len(lines) == 0:
		a.sayf("there are no resources yet: create one with %s apply", a.o.Name)
		return nil
	}
	if stream == nil {
		stream = view.NewLines(resourceColumns, a.Style())
	}
	if err := a.print(stream.Add(a.resourceRows(lines))); err != nil {
		return err
	}
	if page.Continue != "" {
		a.sayf("there are more: --continue %s", view.Plain(page.Continue))
	}
	return nil
}

var resourceColumns = []view.Column{
	{Title: "CONTROLLER", Flex: true}, {Title: "KEY", Flex: true}, {Title: "READY"}, {Title: "REASON", Flex: true},
	{Title: "GEN", Right: true}, {Title: "QUEUE", Flex: true}, {Title: "CHILD"}, {Title: "AGE", Right: true},
}

func (a *App) resourceRows(lines []resourceLine) [][]string {
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{
			view.Plain(l.Controller), view.Plain(l.Key), a.readiness(l.Ready.Status), reasonOf(l),
			strconv.FormatInt(l.Generation, 10), queueText(l.Queue, a.o.Clock.Now()), childText(l.WorkflowRun),
			a.age(l.UID),
		}
	}
	return rows
}

func (a *App) readiness(s controller.ConditionStatus) string {
	p := a.Style().Palette
	switch s {
	case controller.True:
		return p.Good("true")
	case controller.False:
		return p.Bad("false")
	default:
		return p.Warm(string(s))
	}
}

func reasonOf(l resourceLine) string {
	if l.DeletionTimestamp != "" {
		return "(deleting) " + view.Plain(l.Ready.Reason)
	}
	return view.Plain(l.Ready.Reason)
}

// queueText is a queue row in short.
func queueText(q queueLine, now time.Time) string {
	text := string(q.State)
	if at, err := time.Parse(time.RFC3339, q.AvailableAt); err == nil && q.State == controller.QueueDelayed {
		text = "in " + view.Duration(at.Sub(now))
	}
	switch q.ConsecutiveErrors {
	case 0:
		return text
	case 1:
		return text + ", 1 error"
	default:
		return fmt.Sprintf("%s, %d errors", text, q.ConsecutiveErrors)
	}
}

func childText(r *controller.WorkflowRun) string {
	if r == nil {
		return "-"
	}
	if r.Attempt > 1 {
		return fmt.Sprintf("%s #%d", r.State, r.Attempt)
	}
	return string(r.State)
}

// age tells how long ago a resource was made: its UID is a UUID of version 7,
// which begins with the time.
func (a *App) age(uid string) string {
	id, err := uuid.Parse(uid)
	if err != nil || id.Version() != 7 {
		return "-"
	}
	sec, nsec := id.Time().UnixTime()
	return view.Age(a.o.Clock.Now().Sub(time.Unix(sec, nsec)))
}
