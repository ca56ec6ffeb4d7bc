package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"piworkflows/controller"
	"piworkflows/view"
)

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

// eventStream is eventTable for events that are still to come.
func (a *App) eventStream() *view.Lines {
	columns := slices.Clone(eventColumns)
	columns[2].Min = len(controller.EventWorkflowStateChanged) // the longest name
	return view.NewLines(columns, a.Style())
}

func eventRows(list []controller.Event) [][]string {
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{
			e.RecordedAt.UTC().Format(eventTime), eventOf(e.Ref), view.Plain(string(e.Type)), eventDetail(e.Payload),
		}
	}
	return rows
}

// eventOf names what an event happened to.
func eventOf(ref controller.Ref) string {
	if ref == (controller.Ref{}) {
		return "(project)"
	}
	return view.Plain(ref.String())
}

// eventParts says how a line shows the fields of payloads, in this order.
var eventParts = []struct {
	field string
	write func(v any) string
}{
	{"outcome", plainly}, {"state", plainly}, {"durationMs", lasting("took")}, {"reason", named("reason")},
	{"requeueAfterMs", lasting("again in")}, {"effectKey", named("effect")}, {"requestKey", named("request")},
	{"source", named("source")}, {"attempt", named("attempt")}, {"generation", named("generation")},
	{"actor", named("by")}, {"externalRef", named("ref")}, {"note", plainly}, {"code", named("code")}, {"error", plainly},
	{"runId", named("run")},
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
