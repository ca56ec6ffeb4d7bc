// Package cli is the command line: one file for each command, all of them
// around the definitions of the program that uses it. A Go program with its own
// controllers and workflows gets the same commands as pi-workflows.
//
// Results go to stdout, progress and errors to stderr. The JSON results and
// error codes are a contract: docs/cli-json.md.
package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"piworkflows/clock"
	"piworkflows/host"
)

// product names what every program of this command line writes for other
// programs: its JSON has the same schemas.
const product = "pi-workflows"

// Options say what a command line is made of. The zero value of a field takes
// its default.
type Options struct {
	// Definitions are the controllers and workflows of the program.
	Definitions host.Definitions
	// Sources are other places that definitions come from; what they have hides what
	// is in the program.
	Sources []host.DefinitionSource
	// ExtraCommands adds commands of the program's own; they share the global
	// flags, and the errors that they return are reported like all others: a
	// method ErrorCode gives an error its code.
	ExtraCommands func(*App) []*cobra.Command
	// Name is the name of the program in help and messages; "pi-workflows" by
	// default.
	Name string
	// Version is what the command version prints; "dev" by default.
	Version string
	// Stdin, Stdout and Stderr are those of the process by default. Colours are
	// used if Stdout is a terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Clock is clock.System by default.
	Clock clock.Clock
	// Getenv reads the environment; os.Getenv by default.
	Getenv func(string) string
	// Actor is recorded as the author of changes; by default user@host of the
	// process.
	Actor string
}

// App is a command line. Execute may be called several times, also by a command
// that wants to run another.
type App struct {
	o     Options
	flags globalFlags
	// catalog holds the compiled definitions once a command asked for them.
	catalog *host.Catalog
}

// New returns the command line of a program.
func New(o Options) *App {
	o.Name = cmp.Or(o.Name, product)
	o.Version = cmp.Or(o.Version, "dev")
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &App{o: o}
}

// Execute runs one command and returns the exit code of the process (see
// docs/cli-json.md). An ended ctx ends the command; it should stand for the
// interruption by a person or a supervisor.
func (a *App) Execute(ctx context.Context, args []string) int {
	call := &App{o: a.o, catalog: a.catalog}
	err := call.root(args).ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && !cutsOff(err) {
		err = errors.Join(ErrInterrupted, err)
	}
	call.report(err, call.JSON() || wantsJSON(args))
	return exitCode(err)
}

// Run runs a command from within another one. It returns the error instead of
// reporting it.
func (a *App) Run(ctx context.Context, args ...string) error {
	if a.flags.noColor {
		args = append(args, "--no-color")
	}
	call := &App{o: a.o, catalog: a.catalog}
	return call.root(args).ExecuteContext(ctx) //nolint:wrapcheck // it is the error of the command
}

// Name is the name of the program.
func (a *App) Name() string { return a.o.Name }

// Stdout is where a command writes its result.
func (a *App) Stdout() io.Writer { return a.o.Stdout }

// Stderr is where a command writes its progress.
func (a *App) Stderr() io.Writer { return a.o.Stderr }

// Clock is the clock of the program.
func (a *App) Clock() clock.Clock { return a.o.Clock }

// Catalog returns the definitions that can be used. One that cannot is among its
// problems, and disables no other one. It is an error only if the program gave a
// source of definitions that is nil.
func (a *App) Catalog() (*host.Catalog, error) {
	if a.catalog == nil {
		if slices.Contains(a.o.Sources, nil) {
			return nil, errors.New("a source of definitions is nil: leave it out")
		}
		sources := append([]host.DefinitionSource{a.o.Definitions.BuiltIn()}, a.o.Sources...)
		a.catalog = host.Load(context.Background(), sources...)
	}
	return a.catalog, nil
}

// Places are the project, store and runs that the global flags name; empty ones
// are left to their defaults.
func (a *App) Places() host.Places { return a.flags.places }

// The groups of commands in the help.
const (
	groupResources = "resources"
	groupRuns      = "runs"
	groupProgram   = "program"
)

func (a *App) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   a.o.Name,
		Short: "Controllers and workflows that are durable, in one binary",
		Long: "Keeps comparing what you asked for with what is there, and works on the difference:\n" +
			"controllers over durable resources, and finite workflows that they start.",
		Version:       a.o.Version,
		SilenceErrors: true,
		// Two wrong letters are still a typing error.
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       noSuchCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.flags.validate(a.o.Name)
		},
	}
	root.SetArgs(args)
	root.SetIn(a.o.Stdin)
	root.SetOut(a.o.Stdout)
	root.SetErr(a.o.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrongUsage(cmd, "%v", err) })
	a.flags.register(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]cobra.Completion{outputTable, outputJSON}, cobra.ShellCompDirectiveNoFileComp))
	a.addCommands(root)
	return root
}

func (a *App) addCommands(root *cobra.Command) {
	root.AddGroup(
		&cobra.Group{ID: groupResources, Title: "Resources and controllers:"},
		&cobra.Group{ID: groupRuns, Title: "Workflows and runs:"},
		&cobra.Group{ID: groupProgram, Title: "The program:"},
	)
	for group, commands := range map[string][]*cobra.Command{
		groupResources: {
			a.hostCommand(), a.controllersCommand(), a.controllerCommand(), a.explainCommand(), a.applyCommand(),
			a.reconcileCommand(), a.suspendCommand(), a.unsuspendCommand(), a.deleteCommand(), a.waitCommand(),
			a.eventsCommand(), a.sourcesCommand(), a.queueCommand(), a.effectsCommand(), a.freezeCommand(), a.unfreezeCommand(),
		},
		groupRuns: {
			a.runCommand(), a.runsCommand(), a.viewCommand(), a.logsCommand(), a.graphCommand(),
			a.resumeCommand(), a.pauseCommand(), a.cancelCommand(), a.answerCommand(),
		},
		groupProgram: {
			a.definitionsCommand(), a.doctorCommand(), a.pruneCommand(), a.backupCommand(), a.restoreCommand(),
			a.benchCommand(), a.versionCommand(),
		},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	if a.o.ExtraCommands != nil {
		for _, c := range a.o.ExtraCommands(a) {
			c.GroupID, c.Args = groupProgram, usageArgs(c.Args)
			root.AddCommand(c)
		}
	}
	addCompletion(root)
	strictHelp(root)
	a.fitHelp(root)
}
