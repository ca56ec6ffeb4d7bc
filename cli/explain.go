package cli

import (
	"slices"
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
			return a.withReadResource(cmd.Context(), ref, func(s host.Store) error {
				p, err := a.takeExplained(cmd.Context(), s, ref)
				if err != nil {
					return err
				}
				return a.printExplanation(ref, p.why)
			})
		},
	}
}

func (a *App) printExplanation(ref controller.Ref, e controller.Explanation) error {
	if a.flags.json() {
		return a.printJSON(explainResult{schema("explain"), ref.Controller, ref.Key, e.Standing, reasonsOf(e.Reasons)})
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

func reasonOf(c controller.Cause) reasonLine {
	return reasonLine{c.Code, c.Message, c.Next, timeText(c.At), c.Do}
}

func reasonsOf(causes []controller.Cause) []reasonLine {
	lines := make([]reasonLine, len(causes))
	for i, c := range causes {
		lines[i] = reasonOf(c)
	}
	return lines
}

func (a *App) nextText(c controller.Cause) string {
	if c.At == nil {
		return string(c.Next)
	}
	in := max(0, c.At.Sub(a.o.Clock.Now()))
	return string(c.Next) + ", in " + view.Duration(in)
}

// doText is what a person types or does.
func (a *App) doText(c controller.Cause) string {
	inWords := []controller.ReasonCode{
		controller.ReasonNoDefinition, controller.ReasonOrphanFinalizer, controller.ReasonPassesAbandoned,
	}
	if slices.Contains(inWords, c.Code) {
		return c.Do
	}
	if c.Do == "" {
		return ""
	}
	return a.commandBlock(c.Do)
}
