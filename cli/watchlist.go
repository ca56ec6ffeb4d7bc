package cli

import (
	"cmp"
	"context"
	"errors"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
)

// listing is a list as it is now, for people and for programs.
type listing struct {
	text   string
	result any
}

// watchList shows a list anew after each change, until ctx ends: on a terminal in
// its place, and each second for what it says of times; else as a whole once more.
func (a *App) watchList(ctx context.Context, s host.Store, f controller.ChangeFilter, list func() (listing, error)) error {
	from, err := s.Head(ctx)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		l, err := list()
		if err != nil {
			return err
		}
		if err := a.showListing(l, first); err != nil {
			return err
		}
		if from, err = a.nextChange(ctx, s, from, f); err != nil {
			return err
		}
	}
}

func (a *App) showListing(l listing, first bool) error {
	switch {
	case a.flags.json():
		return a.streamJSON(l.result)
	case a.Interactive():
		return a.redraw(cmp.Or(l.text, "there is nothing yet\n"), first)
	case first:
		return a.print(l.text)
	}
	return a.print("\n" + l.text)
}

// nextChange waits for an event; on a terminal for a tick at most.
func (a *App) nextChange(ctx context.Context, s host.Store, from controller.Cursor, f controller.ChangeFilter) (controller.Cursor, error) {
	soon, cancel := ctx, context.CancelFunc(func() {})
	if a.Interactive() && !a.flags.json() {
		soon, cancel = clock.WithTimeoutCause(ctx, a.o.Clock, tick, errTimeUp)
	}
	defer cancel()
	changes, err := s.Changes(soon, from, f)
	if errors.Is(context.Cause(soon), errTimeUp) {
		return from, nil
	}
	return changes.Next, err
}
