package bench_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"piworkflows/internal/bench"
)

func TestOfDescribesSamples(t *testing.T) {
	t.Parallel()
	samples := make([]time.Duration, 101)
	for i := range samples {
		samples[i] = time.Duration(i) * time.Millisecond
	}
	samples[100] = 2 * time.Second
	slices.Reverse(samples)
	got := bench.Result{Scenario: "s", Unit: "ms"}.Of(samples, time.Millisecond)
	if got.Value != 68.8 || *got.P50 != 50 || *got.P99 != 99 || got.Scenario != "s" {
		t.Errorf("mean %v, p50 %v, p99 %v of %q", got.Value, *got.P50, *got.P99, got.Scenario)
	}
	if samples[0] != 2*time.Second {
		t.Error("the samples were put in order in place")
	}
	if none := (bench.Result{}).Of(nil, time.Second); none.P50 != nil || none.Value != 0 {
		t.Errorf("of no samples: %+v", none)
	}
}

func TestWithKeepsThreeDigits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want float64 }{
		{123456, 123000}, {1.23456, 1.23}, {0.0123456, 0.0123}, {-9.876, -9.88}, {999.6, 1000}, {0, 0},
		{math.Inf(1), 0}, {math.NaN(), 0},
	} {
		if got := (bench.Result{}).With(test.value).Value; got != test.want {
			t.Errorf("%v: %v, want %v", test.value, got, test.want)
		}
	}
}

func TestLookMeasuresTheDisk(t *testing.T) {
	t.Parallel()
	m, err := bench.Look(time.Now, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if m.CPUs < 1 || m.OS == "" || m.Arch == "" || m.Go == "" || m.Disk.P50 <= 0 || m.Disk.P99 < m.Disk.P50 {
		t.Errorf("%+v", m)
	}
	if _, err := bench.Look(time.Now, t.TempDir()+"/none"); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
