package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"piworkflows/internal/bench"
)

var someBench = benchResult{
	schema("bench"),
	bench.Machine{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26", Load: new(0.82), Disk: bench.DiskSpeed{P50: 0.571, P99: 0.824}},
	[]bench.Result{
		{Scenario: "loop", Settings: map[string]any{"steps": 100, "runs": 520}, Metric: "steps", Value: 10400, Unit: "steps/s"},
		{
			Scenario: "loop", Settings: map[string]any{"steps": 100, "runs": 520}, Metric: "run time", Value: 9.62, Unit: "ms",
			P50: new(9.1), P99: new(17.4),
		},
		{Scenario: "memory", Settings: map[string]any{"step": 1000}, Metric: "live heap", Value: 73.5, Unit: "KiB"},
	},
}

func TestBenchEngineMeasuresAndLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runs := h.flags[len(h.flags)-1]
	out := h.do(exitDone, "bench", "engine", "--time", "1ms", "--steps", "1000", "-o", "json")
	var result struct {
		Machine bench.Machine
		Results []bench.Result
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Results) < 5 || result.Machine.Disk.P50 <= 0 {
		t.Errorf("result %+v", result)
	}
	entries, err := os.ReadDir(filepath.Dir(runs))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if ok, _ := filepath.Match(".pi-workflows-bench-*", entry.Name()); ok {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

func TestBenchControllersMeasuresAndLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	out := h.do(exitDone, "bench", "controllers", "--only", "puts,reconcile", "--resources", "100", "--rounds", "1",
		"--time", "10ms", "--dir", dir, "-o", "json")
	var result struct{ Results []bench.Result }
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Results) < 4 {
		t.Errorf("result %+v", result)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

// The other process of a benchmark ends with its input.
func TestBenchOtherProcessEndsWithItsInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "bench", otherCommand, filepath.Join(t.TempDir(), "s.sqlite"))
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"nothing"}, {"engine", "more"}, {"engine", "--time", "0s"}, {"engine", "--steps", "999"},
		{"controllers", "more"}, {"controllers", "--time", "0s"}, {"controllers", "--rounds", "0"},
		{"controllers", "--resources", "99"}, {"controllers", "--only", "puts,nothing"}, {otherCommand},
	} {
		a, _, errs := screen()
		if code := a.Execute(context.Background(), append([]string{"bench"}, args...)); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}

func TestBenchNeedsItsFolder(t *testing.T) {
	t.Parallel()
	a, _, _ := screen()
	missing := filepath.Join(t.TempDir(), "missing")
	if code := a.Execute(context.Background(), []string{"bench", "engine", "--dir", missing}); code != exitNotFound {
		t.Errorf("exit %d", code)
	}
}

func TestScreenBench(t *testing.T) {
	t.Parallel()
	a, out, _ := screen()
	if err := a.printBench(someBench); err != nil {
		t.Fatal(err)
	}
	golden(t, "screen-bench.txt", out.String())
	if bytes.ContainsRune(out.Bytes(), '\x1b') {
		t.Error("colours without a terminal")
	}
}
