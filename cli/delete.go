package cli

import (
	"context"
	"errors"
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
	// WaitsFor is empty if only the next pass is left.
	WaitsFor []reasonLine `json:"waitsFor,omitempty"`
}

func (a *App) deleteCommand() *cobra.Command {
	var wait bool
	var timeout time.Duration
	var d controller.Deletion
	cmd := &cobra.Command{
		Use:   "delete CONTROLLER KEY",
		Short: "Ask for the deletion of a resource",
		Long: "The resource goes once its controller has cleaned up and removed its finalizers; at once if\n" +
			"there is nothing to clean up. Its child runs are cancelled. What else the deletion waits for is\n" +
			"said. --force-finalizer takes one away whose controller does not come back: the last resort,\n" +
			"because what it stood for is left behind. Who did it and why is recorded.",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			given := flags.Changed("force-finalizer") || flags.Changed("reason")
			if given && (d.ForceFinalizer == "" || d.Reason == "") {
				return wrongUsage(cmd, "--force-finalizer needs --reason: say why, for those who look at it later; --reason is for nothing else")
			}
			d.Ref, d.Actor = refArgs(args), a.actor()
			return a.withResource(cmd.Context(), d.Ref, func(s host.Store) error {
				result, err := a.deleteResource(cmd.Context(), s, d)
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
	cmd.Flags().StringVar(&d.ForceFinalizer, "force-finalizer", "", "take the finalizer `name` away without its controller")
	cmd.Flags().StringVar(&d.Reason, "reason", "", "`why`; required with --force-finalizer")
	return cmd
}

func (a *App) deleteResource(ctx context.Context, s host.Store, d controller.Deletion) (deleteResult, error) {
	done, err := s.RequestDeletion(ctx, d)
	result := deleteResult{head: schema("delete"), Controller: d.Ref.Controller, Key: d.Ref.Key, Deleted: done.Deleted}
	if err != nil || done.Deleted {
		return result, err
	}
	result.Resource = &done.Resource
	causes, err := a.waitsFor(ctx, s, done.Resource)
	result.WaitsFor = reasonsOf(causes)
	return result, err
}

// waitsFor lists what the deletion of a resource waits for beside the next pass.
func (a *App) waitsFor(ctx context.Context, s controller.Store, r controller.Raw) ([]controller.Cause, error) {
	p, err := takePicture(ctx, s, r.Metadata.Ref())
	switch {
	case errors.Is(err, controller.ErrNotFound) || err == nil && p.resource.Metadata.UID != r.Metadata.UID: // it went meanwhile
		return nil, nil
	case err != nil:
		return nil, err
	}
	return controller.WaitsFor(a.situation(p)), nil
}

// awaitDeletion waits until the resource that was asked to go is gone.
func (a *App) awaitDeletion(ctx context.Context, s host.Store, r *deleteResult, timeout time.Duration) error {
	if r.Deleted {
		return nil
	}
	m := r.Resource.Metadata
	w := waiter{store: s, ref: m.Ref(), uid: m.UID, waitsFor: a.waitsFor}
	if _, err := w.run(ctx, a, timeout); err != nil {
		return err
	}
	r.Deleted, r.Resource, r.WaitsFor = true, nil, nil
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
	lines := []string{name + " deletion requested\n"}
	for _, l := range r.WaitsFor {
		lines = append(lines, "  "+view.Plain(l.Message)+"\n")
	}
	return a.print(strings.Join(lines, ""))
}
