package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/internal/canonical"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// The commands in this file take up a run that is recorded already, in this
// process.

func (a *App) resumeCommand() *cobra.Command {
	var who agentFlag
	var options host.ResumeOptions
	var detach detachFlag
	var here bool
	cmd := &cobra.Command{
		Use:   "resume RUN [--agent WHO | --detach]",
		Short: "Go on with a run that is paused, parked or interrupted",
		Long: "No recorded step runs again; the one that was running starts anew. A run that another process\n" +
			"holds goes on there; one that belongs to hosts goes on in a host, unless --here. Any other one\n" +
			"goes on here: progress to stderr, the final output to stdout. An interruption cancels the run;\n" +
			"at a terminal, p pauses it and q parks it.",
		Args:              exactArgs("RUN"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(who.check(cmd, false), detach.check(cmd, who, options.Force)); err != nil {
				return err
			}
			if here = here || who.value != "" || options.Force; !here {
				if done, err := a.resumeElsewhere(cmd.Context(), args[0], detach.on); done || err != nil {
					return err
				}
			}
			return a.takeUp(cmd.Context(), "resume", "", args[0], who, func(o host.Options, s host.Store) (engine.Result, error) {
				return host.ResumeRun(cmd.Context(), o, s, args[0], options)
			})
		},
	}
	registerForce(cmd, &options)
	detach.register(cmd)
	cmd.Flags().BoolVar(&here, "here", false, "in this process, although it belongs to hosts")
	cmd.MarkFlagsMutuallyExclusive("here", "detach")
	who.register(cmd)
	return cmd
}

func (a *App) answerCommand() *cobra.Command {
	var who agentFlag
	var options host.ResumeOptions
	var detach detachFlag
	var file string
	cmd := &cobra.Command{
		Use:                   "answer RUN (JSON | TEXT | -f FILE) [--agent WHO | --detach]",
		DisableFlagsInUseLine: true,
		Short:                 "Answer a run that waits, and follow its continuation",
		Long: "The answer becomes the input of the continuation, which is a run of its own. A text that\n" +
			"is no JSON becomes the object {\"answer\": TEXT}. A run takes one answer.",
		Args:              rangeArgs(1, "RUN", "ANSWER"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == cmd.Flags().Changed("file") {
				return wrongUsage(cmd, "give the answer as an argument, or with -f")
			}
			if err := errors.Join(who.check(cmd, file == "-"), detach.check(cmd, who, options.Force)); err != nil {
				return err
			}
			answer, err := a.answerText(args, file)
			if err != nil {
				return err
			}
			if detach.on {
				return a.answerDetached(cmd.Context(), args[0], answer)
			}
			return a.takeUp(cmd.Context(), "answer", args[0], args[0], who, func(o host.Options, s host.Store) (engine.Result, error) {
				return host.AnswerRun(cmd.Context(), o, s, args[0], answer, options)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the answer as JSON from a `file`, - for stdin")
	registerForce(cmd, &options)
	detach.register(cmd)
	who.register(cmd)
	return cmd
}

func registerForce(cmd *cobra.Command, o *host.ResumeOptions) {
	cmd.Flags().BoolVar(&o.Force, "force", false, "also with another definition than the one it was recorded with")
}

// answerText is the answer as JSON: a text becomes the one field of an object, the
// same for every door through which an answer comes. What was meant as an object
// or a list has to be one.
func (a *App) answerText(args []string, file string) (json.RawMessage, error) {
	if len(args) < 2 {
		return a.runInput(source{file: file})
	}
	text := args[1]
	if err := canonical.Check([]byte(text)); err == nil || text != "" && (text[0] == '{' || text[0] == '[') {
		return a.runInput(source{literal: text})
	}
	return canonical.Marshal(struct {
		Answer string `json:"answer"`
	}{text})
}

// takeUp lets a run go on in this process and tells of it as run does. What goes
// on is a continuation if it has a parent.
func (a *App) takeUp(
	ctx context.Context, command, parent, runID string, who agentFlag, goOn func(host.Options, host.Store) (engine.Result, error),
) error {
	if err := runbundle.CheckRunID(runID); err != nil {
		return err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	return a.withExisting(ctx, func(paths host.Paths, s host.Store) error {
		if s == nil {
			return &runqueue.NotFoundError{RunID: runID}
		}
		row, err := s.Run(ctx, runID)
		if err != nil {
			return err
		}
		graph, err := catalog.Workflow(row.Workflow)
		if err != nil {
			return err
		}
		agents, err := a.agentsOf(who, graph)
		if err != nil {
			return err
		}
		result, err := a.withKeys(a.runOptions(paths, catalog, graph, agents), agents, func(o host.Options) (engine.Result, error) {
			return goOn(o, s)
		})
		if err != nil {
			return err
		}
		return a.concludeRun(command, parent, paths, result, agents)
	})
}

// concludeRun prints how a run ended and what may follow.
func (a *App) concludeRun(command, parent string, paths host.Paths, r engine.Result, who agents) error {
	if err := a.printRun(command, parent, paths, r); err != nil {
		return err
	}
	switch {
	case r.Parked:
		a.sayf("parked: go on with %s", a.command("resume "+r.RunID))
	case r.Status == runbundle.Waiting:
		a.sayf("it waits for an answer: %s", a.command("answer "+r.RunID+" ANSWER"))
	}
	if err := failureOf(r); err != nil {
		return err
	}
	return who.leftover(r)
}

type cancelResult struct {
	head
	RunID string `json:"runId"`
	// Was is where the run stood: queued, running, paused, parked, interrupted or waiting.
	Was string `json:"was"`
}

func (a *App) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run that is queued, running, parked, interrupted or waiting",
		Long: "A run that waits cannot be answered any more. A run that another process runs is cancelled\n" +
			"there, and the command waits for that.",
		Args:              exactArgs("RUN"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRun(cmd.Context(), args[0], func(o host.Options, s host.Store) error {
				was, err := host.CancelRun(cmd.Context(), o, s, args[0])
				if err != nil {
					return err
				}
				return a.printCancelled(cancelResult{schema("cancel"), args[0], was})
			})
		},
	}
}

func (a *App) printCancelled(r cancelResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	return a.print("run " + r.RunID + " cancelled, it was " + r.Was + "\n")
}

// onRun does something with a run that is in the table.
func (a *App) onRun(ctx context.Context, runID string, act func(host.Options, host.Store) error) error {
	if err := runbundle.CheckRunID(runID); err != nil {
		return err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	return a.withExisting(ctx, func(paths host.Paths, s host.Store) error {
		if s == nil {
			return &runqueue.NotFoundError{RunID: runID}
		}
		return act(a.runOptions(paths, catalog, nil, agents{}), s)
	})
}
