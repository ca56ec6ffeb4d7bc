// Package enginebench measures the engine on a real disk with the real rules of
// what must last: steps a second, the cost of a late step, bytes written, short
// runs a second, and memory.
//
// Design: A step.
package enginebench

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"piworkflows/clock"
	"piworkflows/engine"
	"piworkflows/internal/bench"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// Defaults of Options.
const (
	// DefaultTime makes a number that differs by a few per cent the next time.
	DefaultTime = 5 * time.Second
	// DefaultSteps is long enough to see memory that grows by a byte a step.
	DefaultSteps = 100_000
	// MinSteps is the shortest longest run: with fewer steps there is nothing to
	// compare.
	MinSteps = 1_000
)

// Options say where and how long to measure. The zero value of a field takes
// its default.
type Options struct {
	// Dir is the folder for the bundles, on the disk to be measured; the caller
	// removes it afterwards. Required.
	Dir string
	// Time is how long a scenario of many runs goes on; DefaultTime by default.
	Time time.Duration
	// Steps is the length of the longest run, at least MinSteps; DefaultSteps by
	// default. Scenarios that look at step 10,000 look at the last one of shorter
	// runs instead.
	Steps int
	// Progress is told of each scenario before it begins.
	Progress func(scenario string)
	// Logger hears what the engine has to say; nobody by default.
	Logger *slog.Logger
}

// Run measures one scenario after the other. It ends early when ctx ends.
func Run(ctx context.Context, o Options) ([]bench.Result, error) {
	if o.Time == 0 {
		o.Time = DefaultTime
	}
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	var results []bench.Result
	for _, s := range []struct {
		name    string
		measure func(m *meter) ([]bench.Result, error)
	}{
		{"loop", loops}, {"late-steps", lateSteps}, {"bytes", bytesWritten}, {"short-runs", shortRuns}, {"memory", memory},
	} {
		o.Progress(s.name)
		m := newMeter(ctx, o, s.name)
		measured, err := s.measure(m)
		if err != nil {
			return results, fmt.Errorf("measure %s: %w", s.name, err)
		}
		results = append(results, measured...)
	}
	return results, nil
}

// meter is the equipment of one scenario.
type meter struct {
	ctx      context.Context
	o        Options
	scenario string
	clock    clock.Clock
	runs     string // the folder of the bundles
	written  atomic.Int64
	engine   *engine.Engine
}

func newMeter(ctx context.Context, o Options, scenario string) *meter {
	m := &meter{ctx: ctx, o: o, scenario: scenario, clock: clock.System(), runs: filepath.Join(o.Dir, scenario)}
	m.engine = engine.New(engine.Options{RunsDir: m.runs, FS: durable.OS().Counting(&m.written), Logger: o.Logger})
	return m
}

// result names what was measured.
func (m *meter) result(metric, unit string, settings map[string]any) bench.Result {
	return bench.Result{Scenario: m.scenario, Metric: metric, Unit: unit, Settings: settings}
}

// run runs a graph to its end and returns how long it took and its bundle.
func (m *meter) run(g *workflow.Graph) (took time.Duration, dir string, err error) {
	if m.ctx.Err() != nil {
		return 0, "", context.Cause(m.ctx)
	}
	start := m.clock.Now()
	run, err := m.engine.Start(m.ctx, g, engine.StartOptions{})
	if err != nil {
		return 0, "", err
	}
	defer context.AfterFunc(m.ctx, run.Cancel)()
	result := run.Wait()
	took = m.clock.Now().Sub(start)
	if result.Status != runbundle.Completed || result.Err != nil {
		return took, run.Dir(), fmt.Errorf("run %s is %s: %s", result.RunID, result.Status, result.Error)
	}
	return took, run.Dir(), nil
}

// repeat runs a graph again and again for the time of a scenario.
func (m *meter) repeat(g *workflow.Graph) (took []time.Duration, err error) {
	for end := m.clock.Now().Add(m.o.Time); len(took) == 0 || m.clock.Now().Before(end); {
		d, _, err := m.run(g)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}
