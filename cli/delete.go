package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type deleteResult struct {
	head
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// Deleted is false while the deletion waits for the controller.
	Deleted bool `json:"deleted"`
	// Resource is absent once it is deleted.
	Resource *controller.Raw `json:"resource,omitempty"`
}

func (a *App) deleteCommand() *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "delete CONTROLLER KEY",
		Short: "Ask for the deletion of a resource",
		Long: "The resource goes once its controller has cleaned up and removed its finalizers;\n" +
			"at once if there is nothing to clean up.",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := refArgs(args)
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				result, err := a.deleteResource(cmd.Context(), s, ref)
				if err == nil && wait {
					err = a.awaitDeletion(cmd.Context(), s, &result, timeout)
				}
				if err != nil {
					return err
				}
				return a.printDeleted(result)
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the resource is gone")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultWait, "how long --wait waits")
	return cmd
}

func (a *App) deleteResource(ctx context.Context, s host.Store, ref controller.Ref) (deleteResult, error) {
	done, err := s.RequestDeletion(ctx, controller.Deletion{Ref: ref, Actor: a.actor()})
	result := deleteResult{head: schema("delete"), Controller: ref.Controller, Key: ref.Key, Deleted: done.Deleted}
	if !done.Deleted {
		result.Resource = &done.Resource
	}
	return result, err
}

// awaitDeletion waits until the resource that was asked to go is gone.
func (a *App) awaitDeletion(ctx context.Context, s host.Store, r *deleteResult, timeout time.Duration) error {
	if r.Deleted {
		return nil
	}
	m := r.Resource.Metadata
	w := waiter{store: s, ref: m.Ref(), uid: m.UID}
	if _, err := w.run(ctx, a.o.Clock, timeout); err != nil {
		return err
	}
	r.Deleted, r.Resource = true, nil
	return nil
}

func (a *App) printDeleted(r deleteResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	name := view.Plain(controller.Ref{Controller: r.Controller, Key: r.Key}.String())
	if r.Deleted {
		return a.print(name + " deleted\n")
	}
	if held := r.Resource.Metadata.Finalizers; len(held) > 0 {
		return a.print(name + " deletion requested, held by " + view.Plain(strings.Join(held, ", ")) + "\n")
	}
	return a.print(name + " deletion requested\n")
}
