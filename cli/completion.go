package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runqueue"
)

// addCompletion adds the command completion, which writes a script for bash,
// zsh, fish or PowerShell, and puts it and help into a group.
func addCompletion(root *cobra.Command) {
	root.SetCompletionCommandGroupID(groupProgram)
	root.SetHelpCommandGroupID(groupProgram)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			refuseArgs(cmd)
		}
	}
}

// strictHelp makes the command help refuse what is no command, like the program
// itself.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.Run = nil
		help.RunE = func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(cmd, rest)
			}
			return cmd.Help()
		}
	}
}

// refuseArgs makes the generated command report wrong usage as all others do.
func refuseArgs(completion *cobra.Command) {
	completion.Args = rangeArgs(0)
	completion.RunE = func(cmd *cobra.Command, _ []string) error {
		return wrongUsage(cmd, "SHELL is missing: bash, zsh, fish or powershell")
	}
	for _, shell := range completion.Commands() {
		shell.Args = rangeArgs(0)
	}
}

// completionTime bounds how long a shell waits for suggestions.
const completionTime = 2 * time.Second

// suggest returns what the next argument may be, given those before it.
type suggest func(ctx context.Context, args []string) ([]string, error)

// complete makes a completion of suggestions. What goes wrong leaves the shell
// without any: there is nobody to tell.
func (a *App) complete(names suggest) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := clock.WithTimeoutCause(cmd.Context(), a.o.Clock, completionTime, context.DeadlineExceeded)
		defer cancel()
		list, err := names(ctx, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *App) controllerNames(_ context.Context, args []string) ([]string, error) {
	catalog, err := a.Catalog()
	if err != nil || len(args) > 0 {
		return nil, err
	}
	return catalog.Controllers.Names(), nil
}

// resourceNames suggests a controller, then one of its keys.
func (a *App) resourceNames(ctx context.Context, args []string) (keys []string, err error) {
	if len(args) != 1 {
		return a.controllerNames(ctx, args)
	}
	err = a.withReader(ctx, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return nil
		}
		page, err := s.List(ctx, controller.ListQuery{Controller: args[0], Limit: 1000})
		for _, item := range page.Items {
			keys = append(keys, item.Resource.Metadata.Key)
		}
		return err
	})
	return keys, err
}

// uncertainEffects suggests a resource, then its effects that have not ended, then
// a verdict.
func (a *App) uncertainEffects(ctx context.Context, args []string) (keys []string, err error) {
	switch len(args) {
	case 2:
	case 3:
		return verdictWords(), nil
	default:
		return a.resourceNames(ctx, args)
	}
	err = a.withReader(ctx, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return nil
		}
		list, err := s.Effects(ctx, refArgs(args))
		for _, e := range list {
			if !e.State.Final() {
				keys = append(keys, e.Key)
			}
		}
		return err
	})
	return keys, err
}

func (a *App) workflowNames(_ context.Context, args []string) ([]string, error) {
	catalog, err := a.Catalog()
	if err != nil || len(args) > 0 {
		return nil, err
	}
	return catalog.WorkflowNames(), nil
}

func (a *App) runIDs(ctx context.Context, args []string) (ids []string, err error) {
	if len(args) > 0 {
		return nil, nil
	}
	err = a.withReader(ctx, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return nil
		}
		rows, err := s.Runs(ctx, runqueue.Query{})
		for _, row := range rows {
			ids = append(ids, row.RunID)
		}
		return err
	})
	return ids, err
}
