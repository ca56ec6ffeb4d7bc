package enginebench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"piworkflows/internal/bench"
)

// loops measures a loop of 100 steps, one run after the other, with all that a
// run costs from its start to its closed bundle.
func loops(m *meter) ([]bench.Result, error) {
	const steps = 100
	g, err := loop(steps, nil)
	if err != nil {
		return nil, err
	}
	took, err := m.repeat(g)
	if err != nil {
		return nil, err
	}
	settings := map[string]any{"steps": steps, "runs": len(took)}
	return []bench.Result{
		m.result("steps", "steps/s", settings).With(rate(steps*len(took), sum(took))),
		m.result("run time", "ms", settings).Of(took, time.Millisecond),
	}, nil
}

// The steps whose costs are compared. So many steps around each of them are
// looked at that the projections in between show in the mean.
const (
	earlyStep, aroundEarly = 100, 50
	lateStep, partOfLate   = 10_000, 10
)

// lateSteps compares the cost of a step at the beginning of a run with that of
// a step after many others.
func lateSteps(m *meter) ([]bench.Result, error) {
	late := min(lateStep, m.o.Steps)
	aroundLate := late / partOfLate
	steps := late + aroundLate + 2
	begun := make([]time.Time, steps+1) // by step
	g, err := loop(steps, func(step int) { begun[step] = m.clock.Now() })
	if err != nil {
		return nil, err
	}
	var atEarly, atLate, whole []time.Duration
	for len(whole) == 0 || sum(whole) < m.o.Time {
		took, _, err := m.run(g)
		if err != nil {
			return nil, err
		}
		whole = append(whole, took)
		atEarly = append(atEarly, costs(begun, earlyStep, aroundEarly)...)
		atLate = append(atLate, costs(begun, late, aroundLate)...)
	}
	settings := map[string]any{"steps": steps, "runs": len(whole)}
	at := func(step, around int) map[string]any {
		return map[string]any{"steps": steps, "runs": len(whole), "step": step, "around": around}
	}
	first := m.result("step", "µs", at(earlyStep, aroundEarly)).Of(atEarly, time.Microsecond)
	last := m.result("step", "µs", at(late, aroundLate)).Of(atLate, time.Microsecond)
	return []bench.Result{
		first, last, m.result("growth", "times", settings).With(last.Value / first.Value),
		m.result("steps", "steps/s", settings).With(rate(steps*len(whole), sum(whole))),
	}, nil
}

// costs returns how long the steps around one took, each to the beginning of
// the next.
func costs(begun []time.Time, step, around int) []time.Duration {
	list := make([]time.Duration, 0, 2*around)
	for i := step - around; i < step+around; i++ {
		list = append(list, begun[i+1].Sub(begun[i]))
	}
	return list
}

// bytesWritten compares what runs write with what is left of them on disk.
func bytesWritten(m *meter) ([]bench.Result, error) {
	var results []bench.Result
	for steps := 100; steps <= min(lateStep, m.o.Steps); steps *= 10 {
		g, err := loop(steps, nil)
		if err != nil {
			return nil, err
		}
		before := m.written.Load()
		_, dir, err := m.run(g)
		if err != nil {
			return nil, err
		}
		written := m.written.Load() - before
		kept, err := sizes(dir, "trace.ndjson", "state.json")
		if err != nil {
			return nil, err
		}
		settings := map[string]any{"steps": steps, "written": written, "kept": kept}
		results = append(results, m.result("written to kept", "times", settings).With(float64(written)/float64(kept)))
	}
	return results, nil
}

func sizes(dir string, names ...string) (total int64, err error) {
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return 0, fmt.Errorf("look at what a run left: %w", err)
		}
		total += info.Size()
	}
	return total, nil
}

// shortRuns measures runs of three nodes, four at once.
func shortRuns(m *meter) ([]bench.Result, error) {
	const atOnce = 4
	g, err := short()
	if err != nil {
		return nil, err
	}
	took, failed := make([][]time.Duration, atOnce), make([]error, atOnce)
	start := m.clock.Now()
	var workers sync.WaitGroup
	for i := range atOnce {
		workers.Go(func() { took[i], failed[i] = m.repeat(g) })
	}
	workers.Wait()
	elapsed := m.clock.Now().Sub(start)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	all := slices.Concat(took...)
	settings := map[string]any{"nodes": len(g.Nodes()), "atOnce": atOnce, "runs": len(all)}
	return []bench.Result{
		m.result("runs", "runs/s", settings).With(rate(len(all), elapsed)),
		m.result("run time", "ms", settings).Of(all, time.Millisecond),
	}, nil
}

// memory measures what is alive in memory at some steps of one run, beyond what
// was before it.
func memory(m *meter) ([]bench.Result, error) {
	var results []bench.Result
	before := live()
	next := MinSteps
	g, err := loop(m.o.Steps+1, func(step int) {
		if step != next {
			return
		}
		grown := float64(live()) - float64(before)
		results = append(results, m.result("live heap", "KiB", map[string]any{"step": step}).With(grown/(1<<10)))
		next *= 10
	})
	if err != nil {
		return nil, err
	}
	_, _, err = m.run(g)
	return results, err
}

// live returns the bytes that a collection leaves in the heap.
func live() uint64 {
	runtime.GC()
	runtime.GC() // pools let go of what they hold at the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
}

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
