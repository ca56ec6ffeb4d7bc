package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/engine/enginebench"
	"piworkflows/internal/bench"
	"piworkflows/view"
)

// benchResult is what every benchmark prints.
type benchResult struct {
	head
	Machine bench.Machine  `json:"machine"`
	Results []bench.Result `json:"results"`
}

type benchFlags struct {
	time  time.Duration
	steps int
	dir   string
}

func (a *App) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench WHAT",
		Short: "Measure this machine",
		Long:  "Measures what the program does in a second on this machine and this disk.",
		Args:  noSuchBenchmark,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchEngineCommand(), a.benchControllersCommand(), a.benchOtherCommand())
	return cmd
}

func noSuchBenchmark(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := make([]string, 0, len(cmd.Commands()))
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return wrongUsage(cmd, "there is no benchmark %.80q, there is: %s", args[0], strings.Join(names, ", "))
}

func (a *App) benchEngineCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Steps and runs a second, bytes written, memory",
		Long: "Runs small workflows in a temporary folder, with everything synced to the disk that a real run\n" +
			"syncs, and removes them afterwards.",
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.time <= 0:
				return wrongUsage(cmd, "--time %s is not a positive duration", f.time)
			case f.steps < enginebench.MinSteps:
				return wrongUsage(cmd, "--steps %d is less than %d", f.steps, enginebench.MinSteps)
			}
			return a.benchEngine(cmd.Context(), f)
		},
	}
	cmd.Flags().DurationVar(&f.time, "time", enginebench.DefaultTime, "how `long` each scenario goes on")
	cmd.Flags().IntVar(&f.steps, "steps", enginebench.DefaultSteps, "`n`umber of steps of the longest run")
	cmd.Flags().StringVar(&f.dir, "dir", "", "`dir`ectory on the disk to measure (default: where the runs are kept)")
	return cmd
}

func (a *App) benchEngine(ctx context.Context, f benchFlags) error {
	return a.measure(f.dir, func(dir string) ([]bench.Result, error) {
		return enginebench.Run(ctx, enginebench.Options{
			Dir: dir, Time: f.time, Steps: f.steps, Logger: a.Logger(), Progress: a.sayMeasuring,
		})
	})
}

func (a *App) sayMeasuring(scenario string) { a.sayf("measuring %s", scenario) }

// measure lends a folder to a benchmark and prints what it measured there.
func (a *App) measure(parent string, run func(dir string) ([]bench.Result, error)) (err error) {
	dir, err := a.benchDir(parent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	machine, err := bench.Look(a.o.Clock.Now, dir)
	if err != nil {
		return err
	}
	results, err := run(dir)
	if err != nil {
		return err
	}
	return a.printBench(benchResult{schema("bench"), machine, results})
}

// benchDir makes a folder for what is measured, by default on the disk of the
// runs: on another one, which may be a part of the memory, the numbers would
// mean nothing.
func (a *App) benchDir(parent string) (string, error) {
	if parent == "" {
		paths, err := a.Paths()
		if err != nil {
			return "", err
		}
		parent = existing(paths.Runs)
	}
	dir, err := os.MkdirTemp(parent, "."+product+"-bench-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	return dir, nil
}

// existing returns the folder that holds a place, or is to hold it one day.
func existing(place string) string {
	for {
		parent := filepath.Dir(place)
		if info, err := os.Stat(parent); err == nil && info.IsDir() || parent == place {
			return parent
		}
		place = parent
	}
}

func (a *App) printBench(r benchResult) error {
	if a.flags.json() {
		return a.printJSON(r)
	}
	m := r.Machine
	load := "unknown"
	if m.Load != nil {
		load = number(*m.Load)
	}
	text := fmt.Sprintf("%s/%s, %d CPUs, %s, load %s\na new small file lasts after %s ms (p99 %s ms)\n\n",
		m.OS, m.Arch, m.CPUs, m.Go, load, number(m.Disk.P50), number(m.Disk.P99))
	rows := make([][]string, len(r.Results))
	for i, result := range r.Results {
		rows[i] = []string{
			result.Scenario, result.Metric, number(result.Value), result.Unit,
			optional(result.P50), optional(result.P99), settingsText(result.Settings),
		}
	}
	return a.print(text + view.Table([]view.Column{
		{Title: "SCENARIO"}, {Title: "METRIC"}, {Title: "VALUE", Right: true}, {Title: "UNIT"},
		{Title: "P50", Right: true}, {Title: "P99", Right: true}, {Title: "SETTINGS", Flex: true},
	}, rows, a.Style()))
}

// number writes a measured number without an exponent.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func optional(n *float64) string {
	if n == nil {
		return ""
	}
	return number(*n)
}

// settingsText writes settings in the order of their names.
func settingsText(settings map[string]any) string {
	parts := make([]string, 0, len(settings))
	for name, value := range settings {
		parts = append(parts, fmt.Sprintf("%s %v", name, value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
