package cli

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/spf13/cobra"

	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// What another process runs is in this file: runs that are left to a host, and
// orders to the process that has a run.

// detachFlag leaves a run to a host instead of running it here.
type detachFlag struct{ on bool }

func (f *detachFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "detach", false, "leave it to a host, and do not wait")
}

// check refuses what only a run in this process could use.
func (f *detachFlag) check(cmd *cobra.Command, who agentFlag, force bool) error {
	if f.on && (who.value != "" || force) {
		return wrongUsage(cmd, "--agent and --force are for a run in this process: leave out --detach")
	}
	return nil
}

// runDetached leaves a new run to a host.
func (a *App) runDetached(ctx context.Context, name string, input json.RawMessage) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	o := a.runOptions(paths, catalog, nil, agents{})
	if err := host.CheckRun(ctx, o, name, input); err != nil {
		return err // before there is a store
	}
	return a.open(ctx, paths, func(paths host.Paths, s host.Store) error {
		runID, err := host.QueueWorkflow(ctx, o, s, name, input)
		if err != nil {
			return err
		}
		return a.printElsewhere("run", "", paths, runID, string(runqueue.Queued))
	})
}

// answerDetached leaves the continuation of a run to a host.
func (a *App) answerDetached(ctx context.Context, runID string, answer json.RawMessage) error {
	return a.onRun(ctx, runID, func(o host.Options, s host.Store) error {
		next, err := host.QueueAnswer(ctx, o, s, runID, answer)
		if err != nil {
			return err
		}
		return a.printElsewhere("answer", runID, o.Paths, next, string(runqueue.Queued))
	})
}

// resumeElsewhere lets a run go on in another process, if it is to; else it is for
// this one.
func (a *App) resumeElsewhere(ctx context.Context, runID string, detach bool) (done bool, err error) {
	err = a.onRun(ctx, runID, func(o host.Options, s host.Store) error {
		row, found, err := host.UnpauseRun(ctx, o, s, runID, detach)
		if done = found; err != nil || !found {
			return err
		}
		return a.printElsewhere("resume", "", o.Paths, runID, standing(row, o.Paths))
	})
	return done, err
}

// standing is where a run stands now.
func standing(row runqueue.Row, paths host.Paths) string {
	b, _ := runbundle.Summarize(filepath.Join(paths.Runs, row.RunID)) // the row tells enough without it
	return host.RunStatus(row, b)
}

// printElsewhere tells of a run that another process has or will have.
func (a *App) printElsewhere(command, parent string, paths host.Paths, runID, status string) error {
	if a.flags.json() {
		err := a.printJSON(runResult{
			head: schema(command), RunID: runID, ContinuationOf: parent, Status: runbundle.Status(status),
			Detached: true, Bundle: filepath.Join(paths.Runs, runID),
		})
		if err != nil {
			return err
		}
	} else if err := a.print("run " + runID + " " + status + "\n"); err != nil {
		return err
	}
	a.sayIfNoHost()
	return nil
}

// sayIfNoHost tells who leaves something to a host that there is none. What cannot
// be found out is not said.
func (a *App) sayIfNoHost() {
	paths, err := a.Paths()
	if err != nil {
		return
	}
	if running, err := host.Running(paths); err == nil && !running {
		a.sayf("no host is at work: start one with %s", a.command("host"))
	}
}

type pauseResult struct {
	head
	RunID string `json:"runId"`
	// Status is paused; Holder is the process that holds the run, absent if none does.
	Status string `json:"status"`
	Holder string `json:"holder,omitempty"`
}

func (a *App) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause RUN",
		Short: "Hold a run before its next step",
		Long: "The process that runs it holds it when the running step has ended, or does not begin with it.\n" +
			"A run that belongs to hosts stays paused when they stop. It goes on with resume.",
		Args:              exactArgs("RUN"),
		ValidArgsFunction: a.complete(a.runIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRun(cmd.Context(), args[0], func(o host.Options, s host.Store) error {
				row, err := host.PauseRun(cmd.Context(), o, s, args[0])
				if err != nil {
					return err
				}
				return a.printPaused(pauseResult{schema("pause"), args[0], host.StatusPaused, row.Holder})
			})
		},
	}
}

func (a *App) printPaused(r pauseResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	text := "run " + r.RunID + " paused"
	if r.Holder != "" {
		text += ", it holds before its next step in " + r.Holder
	}
	return a.print(text + "\n")
}
