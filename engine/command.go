package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"piworkflows/clock"
	"piworkflows/internal/procgroup"
	"piworkflows/runbundle"
	"piworkflows/secret"
	"piworkflows/workflow"
)

// maxStderr bounds the part of a failed command's stderr in its error, in bytes.
const maxStderr = 4 << 10

// command runs a shell action: what to run, the command in a process group of
// its own, and what its result means. Spec: workflow engine, Shell actions.
func (a *attempt) command(n workflow.Shell) (json.RawMessage, error) {
	command, err := call(a.ctx, a.r.e, a.what("the exec function"), func(ctx context.Context) (workflow.Command, error) {
		return n.Exec(ctx, a.c)
	})
	if err != nil {
		return nil, err
	}
	if err := a.outside(); err != nil {
		return nil, err
	}
	result, err := a.execute(command, n.Updates)
	if err != nil {
		return nil, err
	}
	if n.Parse == nil {
		return valueOf(a.what("output"), result)
	}
	return call(a.ctx, a.r.e, a.what("the parse function"), func(ctx context.Context) (json.RawMessage, error) {
		value, err := n.Parse(ctx, a.c, result)
		if err != nil {
			return nil, err
		}
		return valueOf(a.what("output"), value)
	})
}

// execute runs the command and leaves a receipt of it, however it ended. When
// it returns the process group is reaped, unless the error is an
// *UnsettledError.
func (a *attempt) execute(c workflow.Command, updates *workflow.LineUpdates) (workflow.CommandResult, error) {
	ctx := a.ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = clock.WithTimeoutCause(ctx, a.r.e.o.Clock, c.Timeout, &TimeoutError{What: "command " + rendered(c), After: c.Timeout})
		defer cancel()
	}
	dir, err := workDir(c)
	if err != nil {
		return workflow.CommandResult{}, err
	}
	got, err := a.hear(ctx, a.spec(c, dir), updates)
	result := workflow.CommandResult{
		Command: c.Command, Args: append([]string{}, c.Args...), Dir: dir, Stdout: got.Stdout, Stderr: got.Stderr,
		ExitCode: got.ExitCode, DurationMs: got.Duration.Milliseconds(), Truncated: got.StdoutTruncated || got.StderrTruncated,
	}
	if got.Signal != "" {
		result.Signal = &got.Signal
	}
	// Not if the attempt ended before the command was started.
	if refused := (*procgroup.StartError)(nil); !got.StartedAt.IsZero() || errors.As(err, &refused) {
		a.receipt = receiptOf(result)
	}
	if err == nil && !c.AllowFailure {
		err = commandError(c, got)
	}
	return result, err
}

// hear runs a process group, and hears what it prints while it runs.
func (a *attempt) hear(ctx context.Context, spec procgroup.Spec, updates *workflow.LineUpdates) (procgroup.Result, error) {
	out, lines := a.output(), a.lines(ctx, updates)
	defer out.Close()
	defer lines.fail(nil)
	spec.OnOutput = func(stream string, chunk []byte) {
		out.Write(stream, chunk)
		lines.take(stream, chunk)
	}
	return call(lines.ctx, a.r.e, a.what("the command"), func(ctx context.Context) (procgroup.Result, error) {
		got, err := procgroup.Run(ctx, spec)
		lines.end()
		return got, err
	})
}

func (a *attempt) spec(c workflow.Command, dir string) procgroup.Spec {
	return procgroup.Spec{
		Command: c.Command, Args: c.Args, Dir: dir, Env: environment(c.Env), Stdin: []byte(c.Stdin), Shell: c.Shell,
		MaxOutput: c.MaxOutput, TermGrace: a.r.e.o.KillGrace, Ledger: a.r.e.o.ProcessDir,
	}
}

// workDir returns the working directory by name, for the receipt.
func workDir(c workflow.Command) (string, error) {
	if c.Dir != "" {
		return c.Dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory of command %s: %w", rendered(c), err)
	}
	return dir, nil
}

// environment lays the author's variables over those of this process.
func environment(overlay map[string]*string) []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if _, replaced := overlay[name]; !replaced || name == "" {
			env = append(env, variable)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(overlay)) {
		if value := overlay[name]; value != nil {
			env = append(env, name+"="+*value)
		}
	}
	return env
}

func receiptOf(r workflow.CommandResult) *runbundle.Receipt {
	return &runbundle.Receipt{ActionType: runbundle.ActionShell, CommandReceipt: &runbundle.CommandReceipt{
		Command: r.Command, Args: r.Args, Dir: r.Dir, ExitCode: r.ExitCode, Signal: r.Signal, DurationMs: r.DurationMs,
	}}
}

// commandError returns why a command that ran to its end counts as failed.
func commandError(c workflow.Command, r procgroup.Result) error {
	if r.ExitCode != nil && *r.ExitCode == 0 {
		return nil
	}
	return &CommandError{
		Command: rendered(c), ExitCode: r.ExitCode, Signal: r.Signal, Stderr: shorten(secret.Redact(strings.TrimSpace(r.Stderr)), maxStderr),
	}
}

// rendered is the command line with quoted arguments.
func rendered(c workflow.Command) string {
	words := []string{c.Command}
	for _, arg := range c.Args {
		words = append(words, strconv.Quote(arg))
	}
	return strings.Join(words, " ")
}
