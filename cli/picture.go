package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/view"
)

func (a *App) drawPicture(p picture) string {
	parts := []string{
		a.pictureHead(p), a.conditionTable(p.resource.Status.Conditions), a.effectTable(p.effects),
		a.childTable(p.children), a.ownEventTable(p.events),
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n")
}

// pictureHead has a line for each fact, with its name in the first column.
func (a *App) pictureHead(p picture) string {
	m, ready := p.resource.Metadata, controller.ReadinessOf(p.resource)
	facts := [][2]string{
		{"ready", strings.TrimSpace(a.readiness(ready.Status) + "  " + view.Plain(ready.Reason))},
		{"", view.PlainLines(ready.Message)},
		{"next", a.nextFact(p.why)},
		{"generation", fmt.Sprintf("%d, observed %d", m.Generation, p.resource.Status.ObservedGeneration)},
		{"version", strconv.FormatInt(m.ResourceVersion, 10)},
		{"age", a.age(m.UID)},
		{"queue", queueText(queueOf(p.queue), a.o.Clock.Now())},
		{"last error", view.PlainLines(p.queue.LastError)},
		{"stalled", view.PlainLines(p.queue.Stalled)},
		{"suspended", a.suspensionText(p.queue.Suspension)},
		{"deleting", deletionText(m)},
	}
	return a.Style().Palette.Bold(view.Plain(m.Ref().String())) + "\n" + view.Facts(facts, a.Style()) +
		view.Block("spec", view.Document(p.resource.Spec), a.Style()) +
		view.Block("status", view.Document(p.resource.Status.ControllerStatus), a.Style())
}

// nextFact is the first reason of explain; nothing for what is ready.
func (a *App) nextFact(e controller.Explanation) string {
	if len(e.Reasons) == 0 || e.Reasons[0].Code == controller.ReasonIsReady {
		return ""
	}
	c := e.Reasons[0]
	return fmt.Sprintf("%s: %s (%s)", c.Code, view.Plain(c.Message), a.nextText(c))
}

func (a *App) suspensionText(s *controller.Suspension) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("by %s, %s ago", view.Plain(cmp.Or(s.Actor, "somebody")), a.since(s.At))
	if s.Reason != "" {
		text += ": " + view.PlainLines(s.Reason)
	}
	return text
}

func deletionText(m controller.Metadata) string {
	switch {
	case !m.Deleting():
		return ""
	case len(m.Finalizers) == 0:
		return "since " + clock.Format(*m.DeletionTimestamp)
	default:
		return fmt.Sprintf("since %s, held by %s", clock.Format(*m.DeletionTimestamp), view.Plain(strings.Join(m.Finalizers, ", ")))
	}
}

func (a *App) conditionTable(list []controller.Condition) string {
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{
			view.Plain(c.Type), a.readiness(c.Status), view.Plain(c.Reason), strconv.FormatInt(c.ObservedGeneration, 10),
			a.since(c.LastTransitionTime), view.Plain(c.Message),
		}
	}
	return a.section([]view.Column{
		{Title: "CONDITION", Flex: true}, {Title: "STATUS"}, {Title: "REASON", Flex: true}, {Title: "GEN", Right: true},
		{Title: "SINCE", Right: true}, {Title: "MESSAGE", Flex: true},
	}, rows)
}

func (a *App) effectTable(list []controller.EffectRecord) string {
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{view.Plain(e.Key), view.Plain(e.Kind), a.effectState(e.State), a.since(e.StartedAt), effectNote(e)}
	}
	return a.section([]view.Column{
		{Title: "EFFECT", Flex: true}, {Title: "KIND", Flex: true}, {Title: "STATE"}, {Title: "AGE", Right: true},
		{Title: "REFERENCE OR ERROR", Flex: true},
	}, rows)
}

// effectNote is what there is to say about an effect beside its state.
func effectNote(e controller.EffectRecord) string { return view.Plain(cmp.Or(e.Error, e.ExternalRef)) }

func (a *App) effectState(s controller.EffectState) string {
	p := a.Style().Palette
	switch s {
	case controller.EffectApplied:
		return p.Good(string(s))
	case controller.EffectRejected:
		return p.Bad(string(s))
	default:
		return p.Warm(string(s))
	}
}

func (a *App) childTable(list []controller.ChildRun) string {
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{
			view.Plain(c.RequestKey), view.Plain(string(c.State)), strconv.Itoa(c.Attempt), view.Plain(c.RunID), view.Plain(c.Error),
		}
	}
	return a.section([]view.Column{
		{Title: "CHILD RUN", Flex: true}, {Title: "STATE"}, {Title: "ATTEMPT", Right: true}, {Title: "RUN", Name: true},
		{Title: "ERROR", Flex: true},
	}, rows)
}

// section is a table, or nothing if it has no rows.
func (a *App) section(columns []view.Column, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	return view.Table(columns, rows, a.Style())
}

func (a *App) since(t time.Time) string { return view.Age(a.o.Clock.Now().Sub(t)) }
