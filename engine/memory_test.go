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

// What a run keeps in memory are the latest outputs and what a callback asks for.
// Nothing else runs while this test does, since the heap is everybody's.
//
//nolint:paralleltest // see above
func TestMemoryDoesNotGrowWithTheSteps(t *testing.T) {
	const early, late, most = 500, 5_000, 64 << 10
	live := map[int]uint64{}
	text := strings.Repeat("x", 200) // of 900 KB in all
	d := loop(func(_ context.Context, c *workflow.Context) (any, error) {
		step := c.View.Steps() + 1
		if step == early || step == late {
			live[step] = heap()
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
	if grown := int64(live[late]) - int64(live[early]); grown > most {
		t.Errorf("at step %d %d bytes more are alive than at step %d, want at most %d", late, grown, early, most)
	}
}

// heap returns the bytes that a collection leaves; pools let go of what they hold
// at the second one.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
