package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// watchColumns are resourceColumns with room for what changes most.
func watchColumns() []view.Column {
	columns := slices.Clone(resourceColumns)
	for i, c := range columns {
		switch c.Title {
		case "READY":
			columns[i].Min = len("unknown")
		case "REASON":
			columns[i].Min = len("NotObserved")
		case "NEXT":
			columns[i].Min = len(controller.ReasonPassRunning)
		case "CHILD":
			columns[i].Min = len("succeeded")
		}
	}
	return columns
}

// watchResources follows the events and shows each resource that they concern: in
// its place on a terminal, else as one more line.
func (a *App) watchResources(
	ctx context.Context, s host.Store, from controller.Cursor, f controllersFlags, lines []resourceLine, more string,
) error {
	if a.Interactive() && !a.flags.json() {
		t := &resourceTable{app: a, lines: lines, full: more != ""}
		return t.follow(ctx, s, from, controller.ChangeFilter{Controller: f.query.Controller})
	}
	stream := view.NewLines(watchColumns(), a.Style())
	if err := a.printResources(lines, more, stream); err != nil {
		return err
	}
	for {
		changes, err := s.Changes(ctx, from, controller.ChangeFilter{Controller: f.query.Controller})
		if err != nil {
			return err
		}
		from = changes.Next
		for _, ref := range changed(changes.Events) {
			if err := a.watchLine(ctx, s, ref, stream); err != nil {
				return err
			}
		}
	}
}

// changed returns the resources of events, each once; events of the project have
// none.
func changed(events []controller.Event) []controller.Ref {
	var refs []controller.Ref
	for _, e := range events {
		if e.Ref != (controller.Ref{}) && !slices.Contains(refs, e.Ref) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// watchLine shows one resource as it is now.
func (a *App) watchLine(ctx context.Context, s host.Store, ref controller.Ref, stream *view.Lines) error {
	line, err := a.currentLine(ctx, s, ref)
	gone := errors.Is(err, controller.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case gone && a.flags.json():
		return a.streamJSON(controllersResult{
			head: schema("controllers"), Resources: []resourceLine{}, Deleted: []refLine{refOf(ref)},
		})
	case gone:
		return a.print(stream.Add([][]string{deletedRow(ref)}))
	case a.flags.json():
		return a.streamJSON(controllersResult{head: schema("controllers"), Resources: []resourceLine{line}})
	default:
		return a.print(stream.Add(a.resourceRows([]resourceLine{line})))
	}
}

// deletedRow is the last row of a resource; it fits resourceColumns.
func deletedRow(ref controller.Ref) []string {
	return []string{view.Plain(ref.Controller), view.Plain(ref.Key), "-", "(deleted)", "-", "-", "-", "-"}
}

func (a *App) currentLine(ctx context.Context, s host.Store, ref controller.Ref) (resourceLine, error) {
	p, err := takePicture(ctx, s, ref)
	if err != nil {
		return resourceLine{}, err
	}
	w, err := a.surroundings(ctx, s)
	if err != nil {
		return resourceLine{}, err
	}
	e, err := w.explainPicture(ctx, p)
	return lineOf(p.resource, p.queue, e), err
}

// tick is how often a table on a terminal is drawn anew, for what it says of
// times.
const tick = time.Second

// resourceTable is the live table of a terminal.
type resourceTable struct {
	app   *App
	lines []resourceLine
	// full says that there are more resources than the table has: new ones are not
	// added to it.
	full bool
}

// follow draws the table until ctx ends: after each change, and as time goes on.
func (t *resourceTable) follow(ctx context.Context, s host.Store, from controller.Cursor, f controller.ChangeFilter) error {
	for first := true; ; first = false {
		if err := t.app.redraw(t.draw(), first); err != nil {
			return err
		}
		var stale []controller.Ref
		var err error
		if from, stale, err = t.await(ctx, s, from, f); err != nil {
			return err
		}
		for _, ref := range stale {
			if err := t.refresh(ctx, s, ref); err != nil {
				return err
			}
		}
	}
}

// await returns the resources that changed, or after a tick those whose time has
// come: that is no event.
func (t *resourceTable) await(
	ctx context.Context, s host.Store, from controller.Cursor, f controller.ChangeFilter,
) (controller.Cursor, []controller.Ref, error) {
	soon, cancel := clock.WithTimeoutCause(ctx, t.app.o.Clock, tick, errTimeUp)
	defer cancel()
	changes, err := s.Changes(soon, from, f)
	switch {
	case err == nil:
		return changes.Next, changed(changes.Events), nil
	case errors.Is(context.Cause(soon), errTimeUp):
		return from, t.due(), nil
	default:
		return from, nil, err
	}
}

func (t *resourceTable) due() (refs []controller.Ref) {
	now := t.app.o.Clock.Now()
	for _, l := range t.lines {
		if at, err := time.Parse(time.RFC3339, l.Next.At); err == nil && !at.After(now) {
			refs = append(refs, controller.Ref{Controller: l.Controller, Key: l.Key})
		}
	}
	return refs
}

// refresh reads one resource anew: it moves, comes or goes.
func (t *resourceTable) refresh(ctx context.Context, s host.Store, ref controller.Ref) error {
	line, err := t.app.currentLine(ctx, s, ref)
	i, found := slices.BinarySearchFunc(t.lines, ref, func(l resourceLine, ref controller.Ref) int {
		return cmp.Or(cmp.Compare(l.Controller, ref.Controller), cmp.Compare(l.Key, ref.Key))
	})
	switch gone := errors.Is(err, controller.ErrNotFound); {
	case err != nil && !gone:
		return err
	case gone && found:
		t.lines = slices.Delete(t.lines, i, i+1)
	case gone:
	case found:
		t.lines[i] = line
	case !t.full:
		t.lines = slices.Insert(t.lines, i, line)
	}
	return nil
}

func (t *resourceTable) draw() string {
	if len(t.lines) == 0 {
		return "there are no resources yet\n"
	}
	return view.NewLines(watchColumns(), t.app.Style()).Add(t.app.resourceRows(t.lines))
}
