package enginebench_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/engine/enginebench"
	"piworkflows/internal/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunMeasuresEveryScenario(t *testing.T) {
	t.Parallel()
	var told []string
	results, err := enginebench.Run(t.Context(), enginebench.Options{
		Dir: t.TempDir(), Time: time.Millisecond, Steps: enginebench.MinSteps,
		Progress: func(scenario string) { told = append(told, scenario) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"loop", "late-steps", "bytes", "short-runs", "memory"}; !slices.Equal(told, want) {
		t.Errorf("scenarios %v, want %v", told, want)
	}
	for _, scenario := range told {
		if !slices.ContainsFunc(results, func(r bench.Result) bool { return r.Scenario == scenario }) {
			t.Errorf("nothing was measured in %s", scenario)
		}
	}
	for _, r := range results {
		if r.Metric == "" || r.Unit == "" || len(r.Settings) == 0 || r.Value <= 0 && r.Scenario != "memory" {
			t.Errorf("%+v", r)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := enginebench.Run(ctx, enginebench.Options{
		Dir: t.TempDir(), Time: time.Hour, Progress: func(string) { cancel(enough) },
	})
	if !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
}
