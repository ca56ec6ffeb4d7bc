package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// recentEvents is how many events the picture of a resource has.
const recentEvents = 20

func (a *App) controllerCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:               "controller CONTROLLER KEY",
		Short:             "Show one resource with conditions, effects, child runs and events",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := refArgs(args)
			return a.withReadResource(cmd.Context(), ref, func(s host.Store) error {
				return a.showResource(cmd.Context(), s, ref, watch)
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again whenever it changes, until it is deleted")
	return cmd
}

func refArgs(args []string) controller.Ref { return controller.Ref{Controller: args[0], Key: args[1]} }

// picture is everything that is known of one resource.
type picture struct {
	resource controller.Raw
	queue    controller.QueueRow
	effects  []controller.EffectRecord
	children []controller.ChildRun
	events   []controller.Event
	// why is what explain says.
	why controller.Explanation
}

func takePicture(ctx context.Context, s controller.Store, ref controller.Ref) (p picture, err error) {
	if p.resource, err = s.Get(ctx, ref); err != nil {
		return p, err
	}
	if p.queue, err = s.Queue(ctx, ref); err != nil {
		return p, err
	}
	if p.effects, err = s.Effects(ctx, ref); err != nil {
		return p, err
	}
	if p.children, err = s.Children(ctx, ref); err != nil {
		return p, err
	}
	p.events, err = s.Events(ctx, controller.EventQuery{Controller: ref.Controller, Key: ref.Key, Limit: recentEvents})
	return p, err
}

// takeExplained is takePicture with its explanation.
func (a *App) takeExplained(ctx context.Context, s host.Store, ref controller.Ref) (picture, error) {
	p, err := takePicture(ctx, s, ref)
	if err != nil {
		return p, err
	}
	w, err := a.surroundings(ctx, s)
	if err != nil {
		return p, err
	}
	p.why, err = w.explainPicture(ctx, p)
	return p, err
}

func (a *App) showResource(ctx context.Context, s host.Store, ref controller.Ref, watch bool) error {
	from, err := s.Head(ctx)
	if err != nil {
		return err
	}
	p, err := a.takeExplained(ctx, s, ref)
	if err != nil {
		return err
	}
	if !watch {
		return a.printPicture(p)
	}
	if err := a.watchPicture(p, true); err != nil {
		return err
	}
	return a.watchResource(ctx, s, ref, from)
}

// watchResource shows the resource after each change. Its deletion is the end.
func (a *App) watchResource(ctx context.Context, s host.Store, ref controller.Ref, from controller.Cursor) error {
	for {
		changes, err := s.Changes(ctx, from, controller.ChangeFilter(ref))
		if err != nil {
			return err
		}
		from = changes.Next
		p, err := a.takeExplained(ctx, s, ref)
		if errors.Is(err, controller.ErrNotFound) {
			a.sayf("%s is deleted", view.Plain(ref.String()))
			return nil
		}
		if err != nil {
			return err
		}
		if err := a.watchPicture(p, false); err != nil {
			return err
		}
	}
}

type controllerResult struct {
	head
	Resource  controller.Raw            `json:"resource"`
	Ready     controller.Readiness      `json:"ready"`
	Queue     queueLine                 `json:"queue"`
	Effects   []controller.EffectRecord `json:"effects"`
	Workflows []childLine               `json:"workflows"`
	Events    []eventLine               `json:"events"`
	// State and Reasons are those of explain.
	State   controller.Standing `json:"state"`
	Reasons []reasonLine        `json:"reasons"`
}

func resultOf(p picture) controllerResult {
	return controllerResult{
		schema("controller"), p.resource, controller.ReadinessOf(p.resource), queueOf(p.queue),
		slices.Concat([]controller.EffectRecord{}, p.effects), childrenOf(p.children), eventsOf(p.events),
		p.why.Standing, reasonsOf(p.why.Reasons),
	}
}

func (a *App) printPicture(p picture) error {
	if a.flags.json() {
		return a.printJSON(resultOf(p))
	}
	return a.print(a.drawPicture(p))
}

// watchPicture shows one of several pictures: in the place of the one before on a
// terminal, else below it.
func (a *App) watchPicture(p picture, first bool) error {
	switch {
	case a.flags.json():
		return a.streamJSON(resultOf(p))
	case a.Interactive():
		return a.redraw(a.drawPicture(p), first)
	default:
		return a.print(a.drawPicture(p) + strings.Repeat("─", view.DefaultWidth) + "\n")
	}
}
