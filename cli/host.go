package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/view"
)

type hostFlags struct {
	workers   int
	once      bool
	keep      keepFlags
	logFormat string
}

// hostResult is printed by host --once.
type hostResult struct {
	head
	Delayed []pendingLine `json:"delayed"`
	Failed  []pendingLine `json:"failed"`
}

// UnfinishedError says that host --once left keys whose last pass failed.
type UnfinishedError struct{ Failed []host.Pending }

func (e *UnfinishedError) Error() string {
	keys := make([]string, len(e.Failed))
	for i, p := range e.Failed {
		keys[i] = p.Ref.String()
	}
	return fmt.Sprintf("the last pass of %s failed: see why with controller", strings.Join(keys, ", "))
}

// ErrorCode is the stable code of the error.
func (*UnfinishedError) ErrorCode() string { return "passes_failed" }

func (a *App) hostCommand() *cobra.Command {
	var f hostFlags
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Run the controllers and runs of the project until stopped",
		Long: "Runs in the foreground and logs to stderr. The first SIGINT or SIGTERM stops it cleanly,\n" +
			"the second at once. With --once it ends by itself when nothing is left to do within 5 s.",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.workers < 1 || f.workers > 1000 {
				return wrongUsage(cmd, "--workers %d is not between 1 and 1000", f.workers)
			}
			if f.logFormat != logLines && f.logFormat != logJSON {
				return wrongUsage(cmd, "--log-format %.40q is neither lines nor json", f.logFormat)
			}
			if err := f.keep.check(cmd); err != nil {
				return err
			}
			return a.runHost(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVar(&f.workers, "workers", controller.DefaultWorkers, "at most `n` passes at once, 1 to 1000")
	cmd.Flags().BoolVar(&f.once, "once", false, "end when nothing is left to do; exit code 1 if a last pass failed")
	cmd.Flags().StringVar(&f.logFormat, "log-format", logLines, "`form` of the log on stderr: lines or json")
	f.keep.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(
		[]cobra.Completion{logLines, logJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *App) runHost(ctx context.Context, f hostFlags) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(paths host.Paths, s host.Store) (err error) {
		log := a.logger(f.logFormat, slog.LevelInfo)
		h, err := host.New(ctx, host.Options{
			Paths: paths, Catalog: catalog, Workers: f.workers, Clock: a.o.Clock, Logger: log, Retention: f.keep.retention(),
		}, s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		log.InfoContext(ctx, "host started", "project", paths.Project, "store", paths.Store, "runs", paths.Runs,
			"controllers", catalog.Controllers.Names())
		if f.once {
			return a.hostOnce(ctx, h)
		}
		return h.Run(ctx)
	})
}

func (a *App) hostOnce(ctx context.Context, h *host.Host) error {
	left, err := h.RunOnce(ctx)
	if err != nil {
		return err
	}
	if err := a.printLeft(left); err != nil {
		return err
	}
	if len(left.Failed) > 0 {
		return &UnfinishedError{left.Failed}
	}
	return nil
}

func (a *App) printLeft(left host.Summary) error {
	if a.flags.json() {
		return a.printJSON(hostResult{schema("host"), pendingsOf(left.Delayed), pendingsOf(left.Failed)})
	}
	rows := make([][]string, len(left.Delayed))
	for i, p := range left.Delayed {
		rows[i] = []string{
			view.Plain(p.Ref.String()), p.Until.UTC().Format(time.DateTime), view.Duration(p.Until.Sub(a.o.Clock.Now())),
			view.Plain(p.LastError),
		}
	}
	return a.print(a.section([]view.Column{
		{Title: "DELAYED", Flex: true}, {Title: "UNTIL (UTC)"}, {Title: "IN", Right: true}, {Title: "LAST ERROR", Flex: true},
	}, rows))
}
