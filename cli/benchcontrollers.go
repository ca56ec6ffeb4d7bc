package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller/controllerbench"
	"piworkflows/host"
	"piworkflows/internal/bench"
)

type benchControllersFlags struct {
	only                       []string
	time                       time.Duration
	rounds, workers, resources int
	dir                        string
}

func (a *App) benchControllersCommand() *cobra.Command {
	var f benchControllersFlags
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Passes, effects and puts a second, waits, memory",
		Long: "Runs small controllers in a temporary folder, with everything synced to the disk that a real host\n" +
			"syncs, and removes what they leave. It takes minutes; --only and --time make it shorter.\n" +
			"Scenarios: " + strings.Join(controllerbench.Scenarios(), ", ") + ".",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if problem := f.check(); problem != "" {
				return wrongUsage(cmd, "%s", problem)
			}
			return a.benchControllers(cmd.Context(), f)
		},
	}
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "`scenario`s to measure (default: all)")
	cmd.Flags().DurationVar(&f.time, "time", controllerbench.DefaultTime, "how `long` a round goes on at most")
	cmd.Flags().IntVar(&f.rounds, "rounds", controllerbench.DefaultRounds, "`n`umber of rounds, of which the middle one counts")
	cmd.Flags().IntVar(&f.workers, "workers", controllerbench.DefaultWorkers, "`n`umber of passes and of callers at once")
	cmd.Flags().IntVar(&f.resources, "resources", controllerbench.DefaultResources, "`n`umber of resources in the large store")
	cmd.Flags().StringVar(&f.dir, "dir", "", "`dir`ectory on the disk to measure (default: where the runs are kept)")
	return cmd
}

// check tells what is wrong with the flags; empty if nothing is.
func (f benchControllersFlags) check() string {
	known := controllerbench.Scenarios()
	for _, scenario := range f.only {
		if !slices.Contains(known, scenario) {
			return fmt.Sprintf("there is no scenario %.80q, there is: %s", scenario, strings.Join(known, ", "))
		}
	}
	switch {
	case f.time <= 0:
		return fmt.Sprintf("--time %s is not a positive duration", f.time)
	case f.rounds <= 0 || f.workers <= 0:
		return "--rounds and --workers must be positive"
	case f.resources < controllerbench.MinResources:
		return fmt.Sprintf("--resources %d is less than %d", f.resources, controllerbench.MinResources)
	}
	return ""
}

func (a *App) benchControllers(ctx context.Context, f benchControllersFlags) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	return a.measure(f.dir, func(dir string) ([]bench.Result, error) {
		return controllerbench.Run(ctx, controllerbench.Options{
			Dir: dir, Only: f.only, Time: f.time, Rounds: f.rounds, Workers: f.workers, Resources: f.resources,
			Open: func(ctx context.Context, path string) (controllerbench.Store, error) {
				paths.Store = path
				return host.OpenStore(ctx, paths, a.o.Clock, a.Logger())
			},
			Other: benchOther(paths.Project), Logger: a.Logger(), Progress: a.sayMeasuring,
		})
	})
}

// otherCommand is hidden: it is this program as another process.
const otherCommand = "other-process"

func (a *App) benchOtherCommand() *cobra.Command {
	return &cobra.Command{
		Use:    otherCommand + " STORE",
		Short:  "Put resources into a store until the input ends",
		Hidden: true,
		Args:   exactArgs("STORE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			paths.Store = args[0]
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() {
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				cancel()
			}()
			return a.open(cmd.Context(), paths, func(_ host.Paths, s host.Store) error {
				out := json.NewEncoder(cmd.OutOrStdout())
				return controllerbench.OtherProcess(ctx, s, func(p controllerbench.OtherPut) error { return out.Encode(p) })
			})
		},
	}
}

// benchOther runs this program as another process of a project until ctx ends.
func benchOther(project string) func(ctx context.Context, path string) ([]controllerbench.OtherPut, error) {
	return func(ctx context.Context, path string) ([]controllerbench.OtherPut, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "bench", otherCommand, path)
		cmd.Dir, cmd.Stderr = project, os.Stderr
		puts, err := talk(ctx, cmd)
		if err != nil {
			return nil, fmt.Errorf("run another process: %w", err)
		}
		return puts, nil
	}
}

// talk starts a process, ends its input with ctx, and reads what it put until it
// ends too.
func talk(ctx context.Context, cmd *exec.Cmd) ([]controllerbench.OtherPut, error) {
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err //nolint:wrapcheck // benchOther says what was tried
	}
	defer context.AfterFunc(ctx, func() { _ = input.Close() })()
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // benchOther says what was tried
	}
	puts, err := readPuts(output)
	return puts, errors.Join(err, cmd.Wait())
}

func readPuts(from io.Reader) (list []controllerbench.OtherPut, err error) {
	in := json.NewDecoder(from)
	for {
		var p controllerbench.OtherPut
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return list, fmt.Errorf("read what another process measured: %w", err)
		}
		list = append(list, p)
	}
}
