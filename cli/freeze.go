package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piworkflows/host"
)

type freezeResult struct {
	head
	// Changed is false if it was so already.
	Changed bool `json:"changed"`
	Frozen  bool `json:"frozen"`
}

func (a *App) freezeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Apply no effect in this project until it is unfrozen",
		Long: "Passes go on and look at the outside, and nothing is changed there. Effects that are\n" +
			"being applied at this moment are not cut off.",
		Args: rangeArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(_ host.Paths, s host.Store) error {
				changed, err := s.Freeze(cmd.Context(), a.actor(), reason)
				if err != nil {
					return err
				}
				return a.printFreeze(freezeResult{schema("freeze"), changed, true})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for those who look at it later")
	return cmd
}

func (a *App) unfreezeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "unfreeze",
		Short: "Apply effects again",
		Long:  "Resources that have an effect to apply get a pass at once.",
		Args:  rangeArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withExisting(cmd.Context(), func(_ host.Paths, s host.Store) error {
				changed, err := a.unfreeze(cmd.Context(), s, reason)
				if err != nil {
					return err
				}
				return a.printFreeze(freezeResult{schema("unfreeze"), changed, false})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for those who look at it later")
	return cmd
}

func (a *App) unfreeze(ctx context.Context, s host.Store, reason string) (bool, error) {
	if s == nil {
		return false, nil
	}
	return s.Unfreeze(ctx, a.actor(), reason)
}

func (a *App) printFreeze(r freezeResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	words := map[bool]map[bool]string{
		true:  {true: "frozen", false: "frozen already"},
		false: {true: "unfrozen", false: "not frozen"},
	}
	return a.print("the project is " + words[r.Frozen][r.Changed] + "\n")
}
