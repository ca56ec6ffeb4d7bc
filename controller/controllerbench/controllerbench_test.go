package controllerbench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/controller/controllerbench"
	"piworkflows/internal/bench"
	"piworkflows/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(ctx context.Context, path string) (controllerbench.Store, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: path, Scope: strings.Repeat("0", 24)})
}

// another puts through a store of its own, as another process would.
func another(ctx context.Context, path string) (puts []controllerbench.OtherPut, err error) {
	s, err := openStore(context.WithoutCancel(ctx), path)
	if err != nil {
		return nil, err
	}
	err = controllerbench.OtherProcess(ctx, s, func(p controllerbench.OtherPut) error {
		puts = append(puts, p)
		return nil
	})
	return puts, errors.Join(err, s.Close())
}

func TestRunMeasuresEveryScenario(t *testing.T) {
	t.Parallel()
	var told []string
	results, err := controllerbench.Run(t.Context(), controllerbench.Options{
		Dir: t.TempDir(), Open: openStore, Other: another, Time: 200 * time.Millisecond, Rounds: 2, Workers: 4,
		Resources: controllerbench.MinResources, Only: controllerbench.Scenarios(),
		Progress: func(scenario string) { told = append(told, scenario) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := controllerbench.Scenarios(); !slices.Equal(told, want) {
		t.Errorf("scenarios %v, want %v", told, want)
	}
	for _, scenario := range told {
		if !slices.ContainsFunc(results, func(r bench.Result) bool { return r.Scenario == scenario }) {
			t.Errorf("nothing was measured in %s", scenario)
		}
	}
	for _, r := range results {
		if r.Metric == "" || r.Unit == "" || len(r.Settings) == 0 || r.Value <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for _, scenario := range controllerbench.Scenarios() {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err := controllerbench.Run(ctx, controllerbench.Options{
				Dir: t.TempDir(), Open: openStore, Other: another, Only: []string{scenario}, Time: time.Hour,
				Progress: func(string) { cancel(enough) },
			})
			if !errors.Is(err, enough) {
				t.Errorf("error %v, want %v", err, enough)
			}
		})
	}
}

func TestRunLeavesOutWhatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	results, err := controllerbench.Run(t.Context(), controllerbench.Options{
		Dir: t.TempDir(), Open: openStore, Only: []string{"puts", "other", "notice"}, Time: time.Millisecond, Rounds: 1,
	})
	if err != nil || len(results) == 0 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, r := range results {
		if r.Scenario != "puts" {
			t.Errorf("measured %+v", r)
		}
	}
}
