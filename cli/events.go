package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type eventsFlags struct {
	query  controller.EventQuery
	follow bool
}

type eventsResult struct {
	head
	Events []eventLine `json:"events"`
	// Next is where to go on; absent in a project without a store.
	Next controller.Cursor `json:"next,omitempty"`
	// more says that the limit cut the answer.
	more bool
}

func (a *App) eventsCommand() *cobra.Command {
	var f eventsFlags
	var after string
	cmd := &cobra.Command{
		Use:   "events [CONTROLLER [KEY]]",
		Short: "Show what happened to resources",
		Long: "Shows the newest events, the oldest of them first, or the first ones after a cursor. With\n" +
			"-o json the answer has the cursor to go on from.\n" +
			"With -o json and --follow each line is a result of its own.",
		Args:              rangeArgs(0, "CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(cmd, f.query.Limit, 10_000); err != nil {
				return err
			}
			f.query.After = controller.Cursor(after)
			if len(args) > 0 {
				f.query.Controller = args[0]
			}
			if len(args) > 1 {
				f.query.Key = args[1]
			}
			return a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) error {
				return a.showEvents(cmd.Context(), s, f)
			})
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what happens from now on")
	cmd.Flags().StringVar(&after, "after", "", "only events after this `cursor`, the \"next\" of an earlier answer")
	cmd.Flags().IntVar(&f.query.Limit, "limit", 100, "at most `n` events, 1 to 10000; --follow goes on after them")
	return cmd
}

func (a *App) showEvents(ctx context.Context, s host.Store, f eventsFlags) error {
	if s == nil {
		return a.noEvents(f.query.Controller)
	}
	var lines *view.Lines
	if f.follow {
		lines = a.eventStream()
	}
	if f.follow && f.query.After != "" {
		return a.followEvents(ctx, s, f, f.query.After, nil, lines)
	}
	list, result, err := recorded(ctx, s, f.query)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if err := a.known(f.query.Controller); err != nil {
			return err // not a name that was never heard of
		}
	}
	if err := a.printEvents(list, result, lines); err != nil || !f.follow {
		return err
	}
	shown := make(map[int64]bool, len(list))
	for _, e := range list {
		shown[e.Seq] = true
	}
	return a.followEvents(ctx, s, f, result.Next, shown, lines)
}

// noEvents is the answer in a project without a store.
func (a *App) noEvents(name string) error {
	if err := a.known(name); err != nil {
		return err
	}
	if a.flags.json() {
		return a.printJSON(eventsResult{head: schema("events"), Events: []eventLine{}})
	}
	a.sayf("there are no events yet")
	return nil
}

// recorded reads the events of a query. The head is read first: what happens in
// between is followed, not lost, and told apart by its number.
func recorded(ctx context.Context, s host.Store, q controller.EventQuery) (list []controller.Event, r eventsResult, err error) {
	next, err := s.Head(ctx)
	if err != nil {
		return nil, r, err
	}
	if list, err = s.Events(ctx, q); err != nil {
		return nil, r, err
	}
	r = eventsResult{head: schema("events"), Events: eventsOf(list), Next: next}
	if q.After != "" && len(list) == q.Limit {
		r.Next, r.more = list[len(list)-1].Cursor, true
	}
	return list, r, nil
}

// known refuses a controller that this program does not have; no name is none.
func (a *App) known(name string) error {
	catalog, err := a.Catalog()
	if err != nil || name == "" {
		return err
	}
	_, err = catalog.Controllers.Get(name)
	return err
}

// followEvents writes what happens after a cursor until ctx ends, but for what
// was shown before.
func (a *App) followEvents(
	ctx context.Context, s host.Store, f eventsFlags, from controller.Cursor, shown map[int64]bool, lines *view.Lines,
) error {
	for {
		changes, err := s.Changes(ctx, from, controller.ChangeFilter{Controller: f.query.Controller, Key: f.query.Key})
		if err != nil {
			return err
		}
		from = changes.Next
		var list []controller.Event
		for _, e := range changes.Events {
			if !shown[e.Seq] {
				list = append(list, e)
			}
		}
		if len(list) == 0 {
			continue
		}
		if err := a.printEvents(list, eventsResult{head: schema("events"), Events: eventsOf(list), Next: from}, lines); err != nil {
			return err
		}
	}
}

// printEvents writes events, as further lines of a stream if there is one.
func (a *App) printEvents(list []controller.Event, result eventsResult, stream *view.Lines) error {
	switch {
	case a.flags.json() && stream != nil:
		return a.streamJSON(result)
	case a.flags.json():
		return a.printJSON(result)
	case stream != nil:
		return a.print(stream.Add(eventRows(list)))
	case len(list) == 0:
		a.sayf("there are no such events")
		return nil
	}
	if result.more {
		a.sayf("there may be more: --after %s", view.Plain(string(result.Next)))
	}
	return a.print(a.eventTable(list))
}
