// Command pi-workflows is the command line with the built-in definitions.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"piworkflows/builtin/gitmerge"
	"piworkflows/cli"
	"piworkflows/controller"
	"piworkflows/demo"
	"piworkflows/host"
	"piworkflows/workflow"
)

// version is set by the build: -ldflags '-X main.version=v1.2.3'.
var version = "dev"

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	return cli.New(cli.Options{
		Definitions:   builtins(),
		ExtraCommands: func(app *cli.App) []*cobra.Command { return []*cobra.Command{demo.Command(app)} },
		Version:       version,
	}).Execute(ctx, os.Args[1:])
}

// builtins are the definitions inside the binary.
func builtins() host.Definitions {
	return host.Definitions{
		Controllers: []*controller.Definition{gitmerge.Controller(gitmerge.Options{})},
		Workflows:   []*workflow.Definition{gitmerge.VerifyBranch(gitmerge.Options{})},
	}
}

// exitInterrupted is the exit code of a program that a signal ended.
const exitInterrupted = 130

// interruptible returns a context that the first signal ends, so that the
// command stops cleanly. The second ends the process at once.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	for _, s := range stopSignals {
		// What a parent such as nohup had ignored stays ignored.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(cli.ErrInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
