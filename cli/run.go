package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/internal/canonical"
	"piworkflows/runbundle"
	"piworkflows/view"
	"piworkflows/workflow"
)

type runResult struct {
	head
	RunID string `json:"runId"`
	// ContinuationOf is the run whose answer started this one.
	ContinuationOf string           `json:"continuationOf,omitempty"`
	Status         runbundle.Status `json:"status"`
	// Parked says that the run has no end and can be resumed.
	Parked bool `json:"parked,omitempty"`
	// Detached says that a host has the run, or will have it.
	Detached    bool            `json:"detached,omitempty"`
	FinalOutput json.RawMessage `json:"finalOutput,omitempty"`
	WaitingOn   string          `json:"waitingOn,omitempty"`
	Error       string          `json:"error,omitempty"`
	// Bundle is the folder of the record.
	Bundle string `json:"bundle"`
}

// RunError says that a run that was followed to its end did not succeed.
type RunError struct {
	RunID  string
	Status runbundle.Status
	// Code is the code of the run's error; Reason its text.
	Code, Reason string
}

func (e *RunError) Error() string {
	return fmt.Sprintf("run %s ended as %s: %s: look at it with view %s", e.RunID, e.Status, e.Reason, e.RunID)
}

// ErrorCode is the stable code of the error.
func (*RunError) ErrorCode() string { return "run_failed" }

func (a *App) runCommand() *cobra.Command {
	var input source
	var who agentFlag
	var detach detachFlag
	cmd := &cobra.Command{
		Use:                   "run WORKFLOW [--input JSON | -f FILE] [--agent WHO | --detach]",
		DisableFlagsInUseLine: true,
		Short:                 "Start a run of a workflow and follow it",
		Long: "Runs the workflow in this process. Progress goes to stderr, the final output to stdout; with\n" +
			"-v also what commands and agents print, each line with its node as in logs.\n" +
			"An interruption cancels the run; at a terminal, p pauses it and q parks it. With --detach a\n" +
			"host runs it: see it with view and logs, and control it with pause, resume, cancel and answer.\n" +
			"docs/agents.md has the form of a script.",
		Args:              exactArgs("WORKFLOW"),
		ValidArgsFunction: a.complete(a.workflowNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("input") && cmd.Flags().Changed("file") {
				return wrongUsage(cmd, "give --input or -f, not both")
			}
			if err := errors.Join(who.check(cmd, input.file == "-"), detach.check(cmd, who, false)); err != nil {
				return err
			}
			if detach.on {
				text, err := a.runInput(input)
				if err != nil {
					return err
				}
				return a.runDetached(cmd.Context(), args[0], text)
			}
			return a.runWorkflow(cmd.Context(), args[0], input, who)
		},
	}
	cmd.Flags().StringVar(&input.literal, "input", "", "the run input as `JSON` (default: null)")
	cmd.Flags().StringVarP(&input.file, "file", "f", "", "the run input from a `file`, - for stdin")
	detach.register(cmd)
	who.register(cmd)
	return cmd
}

func (a *App) runWorkflow(ctx context.Context, name string, from source, who agentFlag) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	graph, err := catalog.Workflow(name)
	if err != nil {
		return err
	}
	agents, err := a.agentsOf(who, graph)
	if err != nil {
		return err
	}
	input, err := a.runInput(from)
	if err != nil {
		return err
	}
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	o := a.runOptions(paths, catalog, graph, agents)
	if err := host.CheckRun(ctx, o, name, input); err != nil {
		return err
	}
	return a.open(ctx, paths, func(_ host.Paths, s host.Store) error {
		result, err := a.withKeys(o, agents, func(o host.Options) (engine.Result, error) {
			return host.RunWorkflow(ctx, o, s, name, input)
		})
		if err != nil {
			return err
		}
		return a.concludeRun("run", "", paths, result, agents)
	})
}

func (a *App) runInput(from source) (json.RawMessage, error) {
	if !from.given() {
		return json.RawMessage("null"), nil
	}
	input, err := from.read(a.o.Stdin)
	if err != nil {
		return nil, err
	}
	if err := canonical.Check(input); err != nil {
		return nil, fmt.Errorf("the run input: %w", err)
	}
	return input, nil
}

// printRun writes the result of a command that followed a run.
func (a *App) printRun(command, parent string, paths host.Paths, r engine.Result) error {
	if a.flags.json() {
		return a.printJSON(runResult{
			head: schema(command), RunID: r.RunID, ContinuationOf: parent, Status: r.Status, Parked: r.Parked,
			FinalOutput: r.FinalOutput, WaitingOn: r.WaitingOn, Error: r.Error, Bundle: filepath.Join(paths.Runs, r.RunID),
		})
	}
	if len(r.FinalOutput) == 0 {
		return nil
	}
	return a.print(view.Document(r.FinalOutput) + "\n")
}

// runOptions are those of a run in this process. The graph may be nil if nothing
// of it runs.
func (a *App) runOptions(paths host.Paths, catalog *host.Catalog, g *workflow.Graph, who agents) host.Options {
	progress := a.runProgress(g)
	o := host.Options{
		Paths: paths, Catalog: catalog, Clock: a.o.Clock, Logger: a.Logger(),
		Agents: who.executor, Notifier: &teller{app: a}, Observe: progress.hear,
	}
	if a.flags.verbose {
		o.Printed = progress.hearOutput
	}
	return o
}

// failureOf is the error of a run that did not succeed. A run that waits or is
// parked did what it could.
func failureOf(r engine.Result) error {
	if r.Status == runbundle.Completed || r.Status == runbundle.Waiting || r.Parked {
		return nil
	}
	return &RunError{r.RunID, r.Status, r.ErrorCode, r.Error}
}
