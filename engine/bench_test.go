package engine_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"piworkflows/engine"
	"piworkflows/workflow"
)

// BenchmarkSteps measures a step of a compute loop; it must cost the same at
// the end of a long run.
func BenchmarkSteps(b *testing.B) {
	for _, steps := range []int{100, 1_000, 10_000} {
		b.Run(strconv.Itoa(steps), func(b *testing.B) { benchmark(b, looping(steps), steps) })
	}
}

// BenchmarkComposedSteps measures the same where the loop enters and leaves a
// mount each time.
func BenchmarkComposedSteps(b *testing.B) {
	for _, steps := range []int{100, 1_000, 10_000} {
		b.Run(strconv.Itoa(steps), func(b *testing.B) {
			d := looping(steps / 4) // one of its own, and entry, work and exit of the mount
			d.MaxSteps = steps
			d.Edges[0].Switch = routes("$result.output", "true>in", "false>end")
			d.Edges = append(d.Edges, workflow.Edge{From: "in.out", To: "a"})
			child := flow(compute("work", gives(nil, nil)))
			child.Exits = []workflow.Exit{{Name: "out", From: "work"}}
			d.Includes = []workflow.Include{{Mount: "in", Workflow: child}}
			d.Nodes[0] = compute("a", func(_ context.Context, c *workflow.Context) (any, error) {
				return c.View.Steps() < steps/2, nil // of which it sees two each time
			})
			benchmark(b, d, steps)
		})
	}
}

// looping is a definition of one node that comes so many times.
func looping(steps int) *workflow.Definition {
	d := flow(compute("a", func(_ context.Context, c *workflow.Context) (any, error) { return c.View.Steps() < steps-1, nil }),
		compute("end", gives(nil, nil)))
	d.MaxSteps = steps + 1
	d.Edges = []workflow.Edge{{From: "a", Switch: routes("$result.output", "true>a", "false>end")}}
	return d
}

func benchmark(b *testing.B, d *workflow.Definition, steps int) {
	b.Helper()
	g, err := workflow.Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	e := engine.New(engine.Options{RunsDir: filepath.Join(b.TempDir(), "runs")})
	for b.Loop() {
		run, err := e.Start(b.Context(), g, engine.StartOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if result := run.Wait(); result.Error != "" {
			b.Fatal(result.Error)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
}

// BenchmarkShortRuns measures runs of three nodes, four at once.
func BenchmarkShortRuns(b *testing.B) {
	g, err := workflow.Compile(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)), compute("c", gives(3, nil))))
	if err != nil {
		b.Fatal(err)
	}
	e := engine.New(engine.Options{RunsDir: filepath.Join(b.TempDir(), "runs")})
	b.SetParallelism(2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			run, err := e.Start(b.Context(), g, engine.StartOptions{})
			if err != nil {
				b.Fatal(err)
			}
			run.Wait()
		}
	})
}
