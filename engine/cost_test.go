package engine_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// A run keeps in memory the latest outputs and what a callback asks for, and a late
// step costs what an early one did. Memory that is taken stands for all that a step
// does: it can be counted on a machine that has other work. Nothing else runs while
// this test does, since the heap is everybody's.
//
//nolint:paralleltest // see above
func TestALateStepCostsWhatAnEarlyOneDid(t *testing.T) {
	const early, late, window = 500, 5_000, 1_000
	const mostAlive = 64 << 10 // of outputs that have 900 KB
	at := map[int]runtime.MemStats{}
	text := strings.Repeat("x", 200)
	d := loop(func(_ context.Context, c *workflow.Context) (any, error) {
		switch step := c.View.Steps() + 1; step {
		case early, early + window, late - window, late:
			at[step] = heap()
		}
		return text, nil
	})
	d.MaxSteps = late
	r := newRig(t)
	run, err := engine.New(r.options).Start(t.Context(), r.graph(d), engine.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result := run.Wait(); result.ErrorCode != engine.CodeMaxSteps || result.Status != runbundle.Failed {
		t.Fatalf("the run ended as %+v", result)
	}
	if grown := int64(at[late].HeapAlloc) - int64(at[early].HeapAlloc); grown > mostAlive {
		t.Errorf("at step %d %d bytes more are alive than at step %d, want at most %d", late, grown, early, mostAlive)
	}
	for what, taken := range map[string]func(m runtime.MemStats) uint64{
		"objects": func(m runtime.MemStats) uint64 { return m.Mallocs }, "bytes": func(m runtime.MemStats) uint64 { return m.TotalAlloc },
	} {
		first, last := taken(at[early+window])-taken(at[early]), taken(at[late])-taken(at[late-window])
		if float64(last) > 1.5*float64(first) {
			t.Errorf("%d steps took %d %s at first and %d at last", window, first, what, last)
		}
	}
}

// heap returns what is in use after a collection; pools let go of what they hold at
// the second one.
func heap() (stats runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}
