package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type suspendResult struct {
	head
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// Changed is false if it was so already.
	Changed   bool `json:"changed"`
	Suspended bool `json:"suspended"`
}

func (a *App) suspendCommand() *cobra.Command {
	return a.suspension("suspend", "Make no passes for a resource until it is unsuspended",
		"A pass that runs goes on. What happens meanwhile is kept and seen by the next pass;\n"+
			"a deletion waits too.", true, host.Store.Suspend)
}

func (a *App) unsuspendCommand() *cobra.Command {
	return a.suspension("unsuspend", "Make passes for a suspended resource again", "The next pass is due at once.",
		false, host.Store.Unsuspend)
}

func (a *App) suspension(
	name, short, long string, suspended bool,
	change func(s host.Store, ctx context.Context, ref controller.Ref, actor, reason string) (bool, error),
) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: name + " CONTROLLER KEY", Short: short, Long: long,
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := refArgs(args)
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				changed, err := change(s, cmd.Context(), ref, a.actor(), reason)
				if err != nil {
					return err
				}
				return a.printSuspension(suspendResult{schema(name), ref.Controller, ref.Key, changed, suspended})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for those who look at it later")
	return cmd
}

func (a *App) printSuspension(r suspendResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	words := map[bool]map[bool]string{
		true:  {true: "suspended", false: "suspended already"},
		false: {true: "unsuspended", false: "not suspended"},
	}
	name := view.Plain(controller.Ref{Controller: r.Controller, Key: r.Key}.String())
	return a.print(name + " " + words[r.Suspended][r.Changed] + "\n")
}
