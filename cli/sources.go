package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type sourcesResult struct {
	head
	Sources []sourceLine `json:"sources"`
}

type sourceLine struct {
	controller.SourceInfo
	State controller.SourceState `json:"state"`
	// Since is absent if no host has ever run it.
	Since  string `json:"since,omitempty"`
	Reason string `json:"reason,omitempty"`
	controller.SourceCounters
	LastSeenAt    string `json:"lastSeenAt,omitempty"`
	LastError     string `json:"lastError,omitempty"`
	LastErrorAt   string `json:"lastErrorAt,omitempty"`
	LastRefusal   string `json:"lastRefusal,omitempty"`
	LastRefusalAt string `json:"lastRefusalAt,omitempty"`
	NextAt        string `json:"nextAt,omitempty"`
	// Defined is false if no definition of this program has the source any more.
	Defined bool `json:"defined"`
	// status is what the times of a screen are computed from.
	status controller.SourceStatus
}

func (a *App) sourcesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sources [CONTROLLER]",
		Short: "List what wakes resources from outside, and how it does",
		Long: "The counts go on from one host to the next. A host writes what it counted every few\n" +
			"seconds, and at once when a source begins, ends or works less well than it should.",
		Args:              rangeArgs(0, "CONTROLLER"),
		ValidArgsFunction: a.complete(a.controllerNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(_ host.Paths, s host.Store) error {
				lines, err := a.sourceLines(cmd.Context(), s)
				if err != nil {
					return err
				}
				if len(args) > 0 {
					lines = slices.DeleteFunc(lines, func(l sourceLine) bool { return l.Controller != args[0] })
					if err := a.knownOrUsed(args[0], len(lines)); err != nil {
						return err
					}
				}
				return a.printSources(lines)
			})
		},
	}
}

// sourceLines are the sources that are defined, and those that were; s is nil if
// the project has no store.
func (a *App) sourceLines(ctx context.Context, s host.Store) ([]sourceLine, error) {
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	byInfo := map[controller.SourceInfo]sourceLine{}
	if s != nil {
		told, err := s.Sources(ctx)
		if err != nil {
			return nil, err
		}
		for _, status := range told {
			byInfo[status.SourceInfo] = sourceOf(status)
		}
	}
	for _, info := range catalog.Sources() {
		line, told := byInfo[info]
		if !told {
			line = sourceLine{SourceInfo: info, State: controller.SourceStopped}
		}
		line.Defined = true
		byInfo[info] = line
	}
	lines := make([]sourceLine, 0, len(byInfo))
	for _, line := range byInfo {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b sourceLine) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Source, b.Source))
	})
	return lines, nil
}

func sourceOf(s controller.SourceStatus) sourceLine {
	return sourceLine{
		SourceInfo: s.SourceInfo, State: s.State, Since: clock.Format(s.Since), Reason: s.Reason, SourceCounters: s.SourceCounters,
		LastSeenAt: timeText(s.LastSeenAt), LastError: s.LastError, LastErrorAt: timeText(s.LastErrorAt),
		LastRefusal: s.LastRefusal, LastRefusalAt: timeText(s.LastRefusalAt), NextAt: timeText(s.NextAt), status: s,
	}
}

func (a *App) printSources(lines []sourceLine) error {
	if a.flags.json() {
		return a.printJSON(sourcesResult{schema("sources"), lines})
	}
	if len(lines) == 0 {
		a.sayf("no controller has a source: a definition declares them in Sources, see docs/sources.md")
		return nil
	}
	rows, notes := make([][]string, len(lines)), [][2]string{}
	for i, l := range lines {
		seen := "-"
		if l.status.LastSeenAt != nil {
			seen = a.since(*l.status.LastSeenAt)
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows[i] = []string{
			view.Plain(l.Controller + "/" + l.Source), string(l.State), seen, number(l.Deliveries), number(l.Enqueued),
			number(l.Refused), number(l.Errors), number(l.Restarts),
		}
		name := view.Plain(l.Controller + "/" + l.Source)
		if note := sourceNote(l); note != "" {
			notes = append(notes, [2]string{name, view.PlainLines(note)})
			name = ""
		}
		if next := l.status.NextAt; next != nil {
			notes = append(notes, [2]string{name, "next at " + a.nextTime(*next)})
		}
	}
	table := a.section([]view.Column{
		{Title: "SOURCE", Flex: true}, {Title: "STATE"}, {Title: "SEEN", Right: true}, {Title: "CAME", Right: true},
		{Title: "KEYS", Right: true}, {Title: "REFUSED", Right: true}, {Title: "ERRORS", Right: true}, {Title: "RESTARTS", Right: true},
	}, rows)
	if len(notes) > 0 {
		table += "\n" + view.Facts(notes, a.Style())
	}
	return a.print(table)
}

// sourceNote is what a person should know first of a source.
func sourceNote(l sourceLine) string {
	switch {
	case !l.Defined:
		return "not defined any more"
	case l.Since == "":
		return "never run"
	case l.Reason != "":
		return l.Reason
	case l.State == controller.SourceRestarting:
		return l.LastError
	default:
		return cmp.Or(l.LastRefusal, l.LastError)
	}
}

// nextTime says when something happens, and how far ahead that is.
func (a *App) nextTime(t time.Time) string {
	text := t.UTC().Format(time.DateTime) + " UTC"
	if in := t.Sub(a.o.Clock.Now()); in > 0 {
		text += " (in " + view.Duration(in) + ")"
	}
	return text
}
