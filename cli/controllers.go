package cli

import (
	"context"
	"errors"
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
			return a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) error {
				return a.listResources(cmd.Context(), s, f)
			})
		},
	}
	cmd.Flags().IntVar(&f.query.Limit, "limit", 100, "at most `n` resources, 1 to 1000")
	cmd.Flags().StringVar(&f.query.Continue, "continue", "", "go on after an earlier page, with the `token` that it gave")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on: a live table on a terminal, else a line for each change")
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
	lines, err := a.resourceLines(ctx, s, page)
	if err != nil {
		return err
	}
	if f.watch && s != nil {
		return a.watchResources(ctx, s, from, f, lines, page.Continue)
	}
	return a.printResources(lines, page.Continue, nil)
}

// resourceLines explains each resource of a page.
func (a *App) resourceLines(ctx context.Context, s host.Store, page controller.ListPage) ([]resourceLine, error) {
	lines := make([]resourceLine, 0, len(page.Items))
	if len(page.Items) == 0 {
		return lines, nil
	}
	w, err := a.surroundings(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, item := range page.Items {
		e, err := w.explain(ctx, item)
		if errors.Is(err, controller.ErrNotFound) {
			continue // deleted since the page was read
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, lineOf(item.Resource, item.Queue, e))
	}
	return lines, nil
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
func (a *App) printResources(lines []resourceLine, more string, stream *view.Lines) error {
	result := controllersResult{head: schema("controllers"), Resources: lines, Continue: more}
	switch {
	case a.flags.json() && stream != nil:
		return a.streamJSON(result)
	case a.flags.json():
		return a.printJSON(result)
	case len(lines) == 0 && more == "":
		a.sayf("there are no resources yet: create one with %s", a.command("apply"))
		return nil
	}
	if stream == nil {
		stream = view.NewLines(resourceColumns, a.Style())
	}
	if err := a.print(stream.Add(a.resourceRows(lines))); err != nil {
		return err
	}
	if more != "" {
		a.sayf("there are more: --continue %s", view.Plain(more))
	}
	return nil
}

var resourceColumns = []view.Column{
	{Title: "CONTROLLER", Flex: true}, {Title: "KEY", Flex: true, Middle: true}, {Title: "READY"}, {Title: "REASON", Flex: true},
	{Title: "GEN", Right: true, Spare: true}, {Title: "NEXT", Name: true}, {Title: "CHILD", Flex: true, Spare: true},
	{Title: "AGE", Right: true},
}

func (a *App) resourceRows(lines []resourceLine) [][]string {
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{
			view.Plain(l.Controller), view.Plain(l.Key), a.readiness(l.Ready.Status), readyReason(l),
			strconv.FormatInt(l.Generation, 10), nextWord(l.Next, a.o.Clock.Now()), childText(l.WorkflowRun),
			a.age(l.UID),
		}
	}
	return rows
}

// nextWord is the first reason of explain in short: its code, with the time that
// it waits for. Nothing is next for what is ready.
func nextWord(r reasonLine, now time.Time) string {
	if r.Code == controller.ReasonIsReady {
		return "-"
	}
	if at, err := time.Parse(time.RFC3339, r.At); err == nil {
		return string(r.Code) + " " + view.Duration(max(0, at.Sub(now)))
	}
	return string(r.Code)
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

func readyReason(l resourceLine) string {
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
