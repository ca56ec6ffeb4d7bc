package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type reconcileResult struct {
	head
	Requested []refLine `json:"requested"`
}

func (a *App) reconcileCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "reconcile (CONTROLLER KEY | --all)",
		Short:             "Ask for a pass now",
		Long:              "Wakes a key, also one that waits for a later time. A running host makes the pass.",
		ValidArgsFunction: a.complete(a.resourceNames),
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return rangeArgs(0)(cmd, args)
			}
			return exactArgs("CONTROLLER", "KEY")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return a.reconcileAll(cmd.Context())
			}
			ref := refArgs(args)
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				if _, err := s.Enqueue(cmd.Context(), ref, a.actor()); err != nil {
					return err
				}
				return a.printRequested([]controller.Ref{ref})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every resource of the project")
	return cmd
}

func (a *App) reconcileAll(ctx context.Context) error {
	return a.withExisting(ctx, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return a.printRequested(nil)
		}
		refs, err := allResources(ctx, s)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if _, err := s.Enqueue(ctx, ref, a.actor()); err != nil {
				return err
			}
		}
		return a.printRequested(refs)
	})
}

func allResources(ctx context.Context, s host.Store) ([]controller.Ref, error) {
	var refs []controller.Ref
	q := controller.ListQuery{Limit: 1000}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			refs = append(refs, item.Resource.Metadata.Ref())
		}
		if page.Continue == "" {
			return refs, nil
		}
		q.Continue = page.Continue
	}
}

func (a *App) printRequested(refs []controller.Ref) error {
	if a.flags.json() {
		result := reconcileResult{schema("reconcile"), make([]refLine, len(refs))}
		for i, r := range refs {
			result.Requested[i] = refOf(r)
		}
		return a.printJSON(result)
	}
	if len(refs) == 0 {
		a.sayf("there are no resources yet")
	}
	for _, r := range refs {
		if err := a.print(view.Plain(r.String()) + " requested\n"); err != nil {
			return err
		}
	}
	return nil
}
