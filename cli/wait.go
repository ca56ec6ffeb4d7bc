package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

// defaultWait is how long commands wait if --timeout does not say.
const defaultWait = time.Minute

type waitResult struct {
	head
	Controller string `json:"controller"`
	Key        string `json:"key"`
	For        string `json:"for"`
	// Resource is absent once it is deleted.
	Resource *controller.Raw `json:"resource,omitempty"`
}

func (a *App) waitCommand() *cobra.Command {
	var what string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait CONTROLLER KEY --for GOAL",
		Short: "Block until a condition holds or the resource is deleted",
		Long: "STATUS is true (the default), false or unknown. A condition of an older generation is\n" +
			"unknown, and so is one that is not set. Ends with exit code 5 when the time is up.",
		Args:              exactArgs("CONTROLLER", "KEY"),
		ValidArgsFunction: a.complete(a.resourceNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return wrongUsage(cmd, "--timeout %s is negative", timeout)
			}
			g, err := parseGoal(what)
			if err != nil {
				return wrongUsage(cmd, "%v", err)
			}
			return a.wait(cmd.Context(), refArgs(args), g, timeout)
		},
	}
	cmd.Flags().StringVar(&what, "for", "", "`goal`: condition=TYPE[=STATUS] or deleted; required")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(
		[]cobra.Completion{"condition=Ready", "deleted"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().DurationVar(&timeout, "timeout", defaultWait, "how long to wait")
	return cmd
}

// goal is what is waited for: a condition, or the deletion if kind is empty.
type goal struct {
	kind   string
	status controller.ConditionStatus
}

func parseGoal(text string) (goal, error) {
	if text == "deleted" {
		return goal{}, nil
	}
	if text == "" {
		return goal{}, errors.New("--for is missing: condition=TYPE[=STATUS] or deleted")
	}
	condition, ok := strings.CutPrefix(text, "condition=")
	if !ok {
		return goal{}, errors.New("--for is neither condition=TYPE[=STATUS] nor deleted")
	}
	kind, status, given := strings.Cut(condition, "=")
	if !given {
		status = string(controller.True)
	}
	g := goal{kind, controller.ConditionStatus(strings.ToLower(status))}
	if kind == "" || !slices.Contains([]controller.ConditionStatus{controller.True, controller.False, controller.Unknown}, g.status) {
		return goal{}, fmt.Errorf("--for %.80q names no condition and status", text)
	}
	return g, nil
}

func (g goal) String() string {
	if g.kind == "" {
		return "deleted"
	}
	return "condition=" + g.kind + "=" + string(g.status)
}

func (a *App) wait(ctx context.Context, ref controller.Ref, g goal, timeout time.Duration) error {
	if err := controller.ValidateRef(ref); err != nil {
		return err
	}
	return a.withReader(ctx, func(_ host.Paths, s host.Store) error {
		w := waiter{store: s, ref: ref, goal: g, waitsFor: a.waitsFor}
		r, err := w.run(ctx, a, timeout)
		if err != nil {
			return a.missing(ref, err)
		}
		return a.printWaited(w, r)
	})
}

func (a *App) printWaited(w waiter, r *controller.Raw) error {
	if a.flags.json() {
		return a.printJSON(waitResult{schema("wait"), w.ref.Controller, w.ref.Key, w.goal.String(), r})
	}
	if w.goal.kind == "" {
		return a.print(view.Plain(w.ref.String()) + " deleted\n")
	}
	return a.print(fmt.Sprintf("%s %s=%s\n", view.Plain(w.ref.String()), view.Plain(w.goal.kind), w.goal.status))
}
