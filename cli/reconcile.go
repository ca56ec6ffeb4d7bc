package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type reconcileResult struct {
	head
	Requested []refLine `json:"requested"`
	// Handled says that --wait saw the pass that answered.
	Handled bool `json:"handled,omitempty"`
}

// PassFailedError says that the pass that was waited for ended with an error.
type PassFailedError struct {
	Ref    controller.Ref
	Reason string
}

func (e *PassFailedError) Error() string {
	return fmt.Sprintf("the pass of %s failed: %s: see its events with controller %s %s", e.Ref, e.Reason, e.Ref.Controller, e.Ref.Key)
}

// ErrorCode is the stable code of the error.
func (*PassFailedError) ErrorCode() string { return "pass_failed" }

func (a *App) reconcileCommand() *cobra.Command {
	var all, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile (CONTROLLER KEY | --all)",
		Short: "Ask for a pass now",
		Long: "Wakes a key, also one that waits for a later time. A running host makes the pass.\n" +
			"With --wait it ends once a pass that began after the request has ended.",
		ValidArgsFunction: a.complete(a.resourceNames),
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return rangeArgs(0)(cmd, args)
			}
			return exactArgs("CONTROLLER", "KEY")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && wait {
				return wrongUsage(cmd, "--wait is for one resource")
			}
			if all {
				return a.reconcileAll(cmd.Context())
			}
			ref := refArgs(args)
			return a.withResource(cmd.Context(), ref, func(s host.Store) error {
				count, err := s.Enqueue(cmd.Context(), ref, a.actor())
				if err == nil && wait {
					err = a.awaitHandled(cmd.Context(), s, ref, count, timeout)
				}
				if err != nil {
					return err
				}
				return a.printRequested([]controller.Ref{ref}, wait)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every resource of the project")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the pass that answers")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultWait, "how long --wait waits")
	return cmd
}

// awaitHandled waits for the end of a pass that saw a request.
func (a *App) awaitHandled(ctx context.Context, s host.Store, ref controller.Ref, request int64, timeout time.Duration) error {
	var row controller.QueueRow
	late, err := a.followKey(ctx, timeout, s, ref, func(ctx context.Context) (done bool, err error) {
		row, err = s.Queue(ctx, ref)
		return row.Handled >= request, err
	})
	switch {
	case late:
		return &TimeoutError{For: "a pass of " + ref.String(), Last: "its queue row is " + string(row.State), Timeout: timeout}
	case errors.Is(err, controller.ErrNotFound):
		return nil // the pass that answered removed it
	case err != nil:
		return err
	case row.Stalled != "":
		return &PassFailedError{Ref: ref, Reason: row.Stalled}
	case row.ConsecutiveErrors > 0:
		return &PassFailedError{Ref: ref, Reason: row.LastError}
	}
	return nil
}

func (a *App) reconcileAll(ctx context.Context) error {
	return a.withExisting(ctx, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return a.printRequested(nil, false)
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
		return a.printRequested(refs, false)
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

func (a *App) printRequested(refs []controller.Ref, handled bool) error {
	if a.flags.json() {
		result := reconcileResult{schema("reconcile"), make([]refLine, len(refs)), handled}
		for i, r := range refs {
			result.Requested[i] = refOf(r)
		}
		return a.printJSON(result)
	}
	if len(refs) == 0 {
		a.sayf("there are no resources yet")
	}
	word := " requested\n"
	if handled {
		word = " reconciled\n"
	}
	for _, r := range refs {
		if err := a.print(view.Plain(r.String()) + word); err != nil {
			return err
		}
	}
	return nil
}
