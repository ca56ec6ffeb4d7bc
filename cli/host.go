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
	"piworkflows/secret"
	"piworkflows/view"
)

type hostFlags struct {
	workers   int
	maxRuns   int
	once      bool
	keep      keepFlags
	logFormat string
	listen    string
	token     string
	drain     time.Duration
	notify    notifyFlags
	// hooks are those of notify.
	hooks []host.NotifyHook
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
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := f.keep.check(cmd); err != nil {
				return err
			}
			var err error
			if f.hooks, err = f.notify.parse(cmd); err != nil {
				return err
			}
			return a.runHost(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVar(&f.workers, "workers", controller.DefaultWorkers, "at most `n` passes at once, 1 to 1000")
	cmd.Flags().IntVar(&f.maxRuns, "max-runs", host.DefaultRuns, "at most `n` child runs, and n detached ones, at once")
	cmd.Flags().BoolVar(&f.once, "once", false, "end when nothing is left to do; exit code 1 if a last pass failed")
	cmd.Flags().StringVar(&f.logFormat, "log-format", logLines, "`form` of the log on stderr: lines or json")
	cmd.Flags().StringVar(&f.listen, "listen", "", "answer over HTTP at `address`, [HOST]:PORT")
	cmd.Flags().StringVar(&f.token, "listen-token", "", "what requests have to bring, as env:NAME or file:PATH; a `reference`")
	cmd.Flags().DurationVar(&f.drain, "drain", host.DefaultDrain, "a stop takes at most this `time`")
	f.keep.register(cmd)
	f.notify.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(
		[]cobra.Completion{logLines, logJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses what is no host at all.
func (f hostFlags) check(cmd *cobra.Command) error {
	if f.workers < 1 || f.workers > 1000 {
		return wrongUsage(cmd, "--workers %d is not between 1 and 1000", f.workers)
	}
	if f.maxRuns < 1 || f.maxRuns > 1000 {
		return wrongUsage(cmd, "--max-runs %d is not between 1 and 1000", f.maxRuns)
	}
	if f.logFormat != logLines && f.logFormat != logJSON {
		return wrongUsage(cmd, "--log-format %.40q is neither lines nor json", f.logFormat)
	}
	if f.drain <= 0 || f.drain > maxDrain {
		return wrongUsage(cmd, "--drain %s is not between 1ns and %s", f.drain, maxDrain)
	}
	if f.token != "" && f.listen == "" {
		return wrongUsage(cmd, "--listen-token is for --listen")
	}
	return host.Listen{Addr: f.listen}.Check(cmd.Context())
}

// maxDrain bounds how long a stop may take: supervisors lose their patience before.
const maxDrain = time.Hour

// options are those of a host.
func (f hostFlags) options(a *App, paths host.Paths, catalog *host.Catalog, log *slog.Logger) (host.Options, error) {
	o := host.Options{
		Paths: paths, Catalog: catalog, Workers: f.workers, ChildRuns: f.maxRuns, DetachedRuns: f.maxRuns,
		Clock: a.o.Clock, Logger: log, Retention: f.keep.retention(),
		Listen: host.Listen{Addr: f.listen}, Drain: f.drain, Notify: f.hooks,
	}
	var err error
	if f.token != "" {
		o.Listen.Token, err = secret.Parse(f.token)
	}
	return o, err
}

func (a *App) runHost(ctx context.Context, f hostFlags) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(paths host.Paths, s host.Store) (err error) {
		log := a.logger(f.logFormat, slog.LevelInfo)
		o, err := f.options(a, paths, catalog, log)
		if err != nil {
			return err
		}
		h, err := host.New(ctx, o, s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		log.InfoContext(ctx, "host started", "project", paths.Project, "store", paths.Store, "runs", paths.Runs,
			"controllers", catalog.Controllers.Names())
		if addr := h.Addr(); addr != "" {
			log.InfoContext(ctx, "listening", "address", addr)
		}
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
