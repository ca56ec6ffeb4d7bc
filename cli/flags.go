package cli

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piworkflows/host"
	"piworkflows/secret"
)

// globalFlags are the flags that every command has.
type globalFlags struct {
	places  host.Places
	output  string
	noColor bool
	verbose bool
}

const (
	outputTable = "table"
	outputJSON  = "json"
)

func (f *globalFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.places.Project, "project", "", "project `dir`ectory (default: the current directory)")
	set.StringVar(&f.places.Store, "store", "", "SQLite `file` of the resources (default: the project's own)")
	set.StringVar(&f.places.Runs, "runs", "", "`dir`ectory of the run bundles (default: the user's)")
	set.StringVarP(&f.output, "output", "o", outputTable, "`form` of results: table or json")
	set.BoolVar(&f.noColor, "no-color", false, "no colours, also on a terminal")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "say more on stderr")
}

// validate is the one check of the global flags. Places are resolved, and
// checked, by host.Locate when a command needs them.
func (f *globalFlags) validate(program string) error {
	if !slices.Contains([]string{outputTable, outputJSON}, f.output) {
		return &UsageError{Command: program, Reason: fmt.Sprintf("-o %.40q is neither table nor json", f.output)}
	}
	return nil
}

func (f *globalFlags) json() bool { return f.output == outputJSON }

// wantsJSON looks for -o json by itself, for errors that keep the flags from
// being parsed.
func wantsJSON(args []string) bool {
	text := " " + strings.Join(args, " ") + " "
	for _, form := range []string{" -o json ", " -o=json ", " -ojson ", " --output json ", " --output=json "} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// Logger writes to stderr: what went wrong, with -v everything.
func (a *App) Logger() *slog.Logger { return a.logger(logLines, slog.LevelWarn) }

// logger writes in a form what is at least as severe as a level, with -v
// everything.
func (a *App) logger(format string, level slog.Level) *slog.Logger {
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(secret.Logs(a.logHandler(format, level)))
}

// exactArgs demands the named arguments and no more.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs demands the first of the named arguments and takes the others.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return missingArgs(cmd, names[len(args):least])
		case len(args) > len(names):
			return wrongUsage(cmd, "%.80q is one argument too many", args[len(names)])
		}
		return nil
	}
}

func missingArgs(cmd *cobra.Command, names []string) error {
	if len(names) == 1 {
		return wrongUsage(cmd, "%s is missing", names[0])
	}
	last := len(names) - 1
	return wrongUsage(cmd, "%s and %s are missing", strings.Join(names[:last], ", "), names[last])
}

// usageArgs makes what a check of arguments refuses a wrong usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return wrongUsage(cmd, "%v", err)
		}
		return nil
	}
}

// noSuchCommand refuses what the root command does not know.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = " (did you mean " + strings.Join(similar, " or ") + "?)"
	}
	return wrongUsage(cmd, "there is no command %.80q%s", args[0], hint)
}

// JSON reports whether results are to be JSON.
func (a *App) JSON() bool { return a.flags.json() }
