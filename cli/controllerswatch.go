package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// watchResources follows the events and shows each resource that they concern.
func (a *App) watchResources(ctx context.Context, s host.Store, from controller.Cursor, f controllersFlags) error {
	for {
		changes, err := s.Changes(ctx, from, controller.ChangeFilter{Controller: f.query.Controller})
		if err != nil {
			return err
		}
		from = changes.Next
		for _, ref := range changed(changes.Events) {
			if err := a.watchLine(ctx, s, ref); err != nil {
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
func (a *App) watchLine(ctx context.Context, s host.Store, ref controller.Ref) error {
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
		return a.print(view.Plain(ref.String()) + "  deleted\n")
	case a.flags.json():
		return a.streamJSON(controllersResult{head: schema("controllers"), Resources: []resourceLine{line}})
	default:
		return a.print(fmt.Sprintf("%s  %s  %s  generation %d  %s\n", view.Plain(ref.String()),
			a.readiness(line.Ready.Status), reasonOf(line), line.Generation, queueText(line.Queue, a.o.Clock.Now())))
	}
}

func currentLine(ctx context.Context, s host.Store, ref controller.Ref) (resourceLine, error) {
	r, err := s.Get(ctx, ref)
	if err != nil {
		return resourceLine{}, err
	}
	q, err := s.Queue(ctx, ref)
	return lineOf(r, q), err
}
