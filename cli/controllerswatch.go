package cli

import (
	"context"
	"errors"
	"slices"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// watchColumns are resourceColumns with room for what changes most.
func watchColumns() []view.Column {
	columns := slices.Clone(resourceColumns)
	for i, c := range columns {
		switch c.Title {
		case "READY", "QUEUE":
			columns[i].Min = len("claimed")
		case "REASON":
			columns[i].Min = len("NotObserved")
		case "CHILD":
			columns[i].Min = len("succeeded")
		}
	}
	return columns
}

// watchResources follows the events and shows each resource that they concern.
func (a *App) watchResources(
	ctx context.Context, s host.Store, from controller.Cursor, f controllersFlags, lines *view.Lines,
) error {
	for {
		changes, err := s.Changes(ctx, from, controller.ChangeFilter{Controller: f.query.Controller})
		if err != nil {
			return err
		}
		from = changes.Next
		for _, ref := range changed(changes.Events) {
			if err := a.watchLine(ctx, s, ref, lines); err != nil {
				return err
			}
		}
	}
}

// changed returns the resources of events, each once.
func changed(events []controller.Event) []controller.Ref {
	var refs []controller.Ref
	for _, e := range events {
		if !slices.Contains(refs, e.Ref) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// watchLine shows one resource as it is now.
func (a *App) watchLine(ctx context.Context, s host.Store, ref controller.Ref, lines *view.Lines) error {
	line, err := currentLine(ctx, s, ref)
	gone := errors.Is(err, controller.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case gone && a.flags.json():
		return a.streamJSON(controllersResult{
			head: schema("controllers"), Resources: []resourceLine{}, Deleted: []refLine{refOf(ref)},
		})
	case gone:
		return a.print(lines.Add([][]string{deletedRow(ref)}))
	case a.flags.json():
		return a.streamJSON(controllersResult{head: schema("controllers"), Resources: []resourceLine{line}})
	default:
		return a.print(lines.Add(a.resourceRows([]resourceLine{line})))
	}
}

// deletedRow is the last row of a resource; it fits resourceColumns.
func deletedRow(ref controller.Ref) []string {
	return []string{view.Plain(ref.Controller), view.Plain(ref.Key), "-", "(deleted)", "-", "-", "-", "-"}
}

func currentLine(ctx context.Context, s host.Store, ref controller.Ref) (resourceLine, error) {
	r, err := s.Get(ctx, ref)
	if err != nil {
		return resourceLine{}, err
	}
	q, err := s.Queue(ctx, ref)
	return lineOf(r, q), err
}
