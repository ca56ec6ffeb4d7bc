package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type explainResult struct {
	head
	Controller string              `json:"controller"`
	Key        string              `json:"key"`
	State      controller.Standing `json:"state"`
	Reasons    []reasonLine        `json:"reasons"`
}

type reasonLine struct {
	Code      controller.ReasonCode `json:"code"`
	Message   string                `json:"message"`
	NextActor controller.Actor      `json:"nextActor"`
	At        string                `json:"at,omitempty"`
	// Do is a command of this program, or what else a person can do.
	Do string `json:"do,omitempty"`
}

func (a *App) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "explain CONTROLLER KEY",
		Short:             "Say why a resource is not ready, and who acts next",
		Long:              "The codes of the reasons are stable; docs/reasons.md explains each.",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := refArgs(args)
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				e, err := a.explain(cmd.Context(), s, ref)
				if err != nil {
					return err
				}
				return a.printExplanation(ref, e)
			})
		},
	}
}

func (a *App) explain(ctx context.Context, s host.Store, ref controller.Ref) (controller.Explanation, error) {
	p, err := takePicture(ctx, s, ref)
	if err != nil {
		return controller.Explanation{}, err
	}
	paths, err := a.Paths()
	if err != nil {
		return controller.Explanation{}, err
	}
	runs, err := host.Running(paths)
	if err != nil {
		return controller.Explanation{}, err
	}
	frozen, err := s.Frozen(ctx)
	if err != nil {
		return controller.Explanation{}, err
	}
	return controller.Explain(controller.Situation{
		Frozen: frozen, Resource: p.resource, Queue: p.queue, Effects: p.effects, Children: p.children,
		Loaded: a.known(ref.Controller) == nil, HostRuns: runs, Now: a.o.Clock.Now(),
	}), nil
}

func (a *App) printExplanation(ref controller.Ref, e controller.Explanation) error {
	if a.flags.json() {
		result := explainResult{schema("explain"), ref.Controller, ref.Key, e.Standing, make([]reasonLine, len(e.Reasons))}
		for i, c := range e.Reasons {
			result.Reasons[i] = reasonLine{c.Code, c.Message, c.Next, timeText(c.At), c.Do}
		}
		return a.printJSON(result)
	}
	p := a.Style().Palette
	parts := []string{p.Bold(view.Plain(ref.String())) + " is " + string(e.Standing) + "\n"}
	for _, c := range e.Reasons {
		parts = append(parts, view.Facts([][2]string{
			{"reason", string(c.Code)},
			{"", view.PlainLines(c.Message)},
			{"next", a.nextText(c)},
			{"do", a.doText(c)},
		}, a.Style()))
	}
	return a.print(strings.Join(parts, "\n"))
}

func (a *App) nextText(c controller.Cause) string {
	if c.At == nil {
		return string(c.Next)
	}
	in := max(0, c.At.Sub(a.o.Clock.Now()))
	return string(c.Next) + ", in " + view.Duration(in)
}

// doText is the command as a person types it.
func (a *App) doText(c controller.Cause) string {
	if c.Do == "" || c.Code == controller.ReasonNoDefinition {
		return c.Do
	}
	return a.o.Name + " " + view.Plain(c.Do)
}
