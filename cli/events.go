package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	// Next is where to go on. It is absent if the limit cut the answer.
	Next controller.Cursor `json:"next,omitempty"`
}

func (a *App) eventsCommand() *cobra.Command {
	var f eventsFlags
	var after string
	cmd := &cobra.Command{
		Use:   "events [CONTROLLER [KEY]]",
		Short: "Show what happened to resources",
		Long: "Shows the newest events, the oldest of them first, or those after a cursor.\n" +
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
			return a.withExisting(cmd.Context(), func(_ host.Paths, s host.Store) error {
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
		return a.noEvents()
	}
	if f.follow && f.query.After != "" {
		return a.followEvents(ctx, s, f, f.query.After, nil)
	}
	// The head is read first: what happens in between is followed, not lost, and
	// told apart by its number.
	next, err := s.Head(ctx)
	if err != nil {
		return err
	}
	list, err := s.Events(ctx, f.query)
	if err != nil {
		return err
	}
	result := eventsResult{schema("events"), eventsOf(list), next}
	if f.query.After != "" && len(list) == f.query.Limit {
		result.Next = ""
	}
	if err := a.printEvents(list, result, f.follow); err != nil || !f.follow {
		return err
	}
	shown := make(map[int64]bool, len(list))
	for _, e := range list {
		shown[e.Seq] = true
	}
	return a.followEvents(ctx, s, f, next, shown)
}

func (a *App) noEvents() error {
	if a.flags.json() {
		return a.printJSON(eventsResult{head: schema("events"), Events: []eventLine{}})
	}
	a.sayf("there are no events yet")
	return nil
}

// followEvents writes what happens after a cursor until ctx ends, but for what
// was shown before.
func (a *App) followEvents(ctx context.Context, s host.Store, f eventsFlags, from controller.Cursor, shown map[int64]bool) error {
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
		if err := a.printEvents(list, eventsResult{schema("events"), eventsOf(list), from}, true); err != nil {
			return err
		}
	}
}

func (a *App) printEvents(list []controller.Event, result eventsResult, stream bool) error {
	switch {
	case a.flags.json() && stream:
		return a.streamJSON(result)
	case a.flags.json():
		return a.printJSON(result)
	case stream:
		return a.print(a.eventText(list))
	case len(list) == 0:
		return a.noEvents()
	default:
		return a.print(a.eventTable(list))
	}
}

// eventTime is short, since events are read close to when they happen; the date
// is in the JSON form.
const eventTime = "01-02 15:04:05"

var eventColumns = []view.Column{
	{Title: "TIME (UTC)"}, {Title: "RESOURCE", Flex: true}, {Title: "EVENT"}, {Title: "DETAIL", Flex: true},
}

func (a *App) eventTable(list []controller.Event) string {
	return a.section(eventColumns, eventRows(list))
}

// ownEventTable is eventTable for events of one resource.
func (a *App) ownEventTable(list []controller.Event) string {
	rows := eventRows(list)
	for i, row := range rows {
		rows[i] = slices.Delete(row, 1, 2)
	}
	return a.section(slices.Delete(slices.Clone(eventColumns), 1, 2), rows)
}

// eventText is eventTable for a stream, whose later lines are not known.
func (a *App) eventText(list []controller.Event) string {
	var b strings.Builder
	for _, row := range eventRows(list) {
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", row[0], row[1], row[2], row[3])
	}
	return b.String()
}

func eventRows(list []controller.Event) [][]string {
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{
			e.RecordedAt.UTC().Format(eventTime), view.Plain(e.Ref.String()), view.Plain(string(e.Type)), eventDetail(e.Payload),
		}
	}
	return rows
}

// eventParts says how a line shows the fields of payloads, in this order.
var eventParts = []struct {
	field string
	write func(v any) string
}{
	{"outcome", plainly}, {"state", plainly}, {"durationMs", lasting("in")}, {"reason", named("reason")},
	{"requeueAfterMs", lasting("again in")}, {"effectKey", named("effect")}, {"requestKey", named("request")},
	{"source", named("source")}, {"attempt", named("attempt")}, {"generation", named("generation")},
	{"actor", named("by")}, {"externalRef", named("ref")}, {"error", plainly},
}

// eventDetail is a payload in short.
func eventDetail(payload json.RawMessage) string {
	var p map[string]any
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	var parts []string
	for _, part := range eventParts {
		if v, ok := p[part.field]; ok && v != nil && v != "" {
			parts = append(parts, part.write(v))
		}
	}
	return view.Plain(strings.Join(parts, " "))
}

func plainly(v any) string { return fmt.Sprint(v) }

func named(name string) func(any) string {
	return func(v any) string { return fmt.Sprintf("%s=%v", name, v) }
}

func lasting(word string) func(any) string {
	return func(v any) string {
		ms, ok := v.(float64)
		if !ok {
			return ""
		}
		return word + " " + view.Duration(durationOf(int64(ms)))
	}
}
