package host

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// Every run is found, page by page, also while those that were found end.
func TestEachRun(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := OpenStore(ctx, Paths{Project: dir, Store: filepath.Join(dir, "s")}, clock.System(), slog.New(slog.DiscardHandler))
	must(err)
	defer store.Close()
	for i := range 5 {
		c, err := store.Launch(ctx, runqueue.NewRun{
			RunID: fmt.Sprint("run-", i), Workflow: "w", Source: []byte("{}"), Input: []byte("1"),
		}, lease.DefaultDuration)
		must(err)
		must(store.ParkRun(ctx, c, ""))
	}
	for _, pageSize := range []int{1, 5, 6, 2} {
		var found []string
		must(eachRun(ctx, store, runqueue.Query{Status: runqueue.Parked, Limit: pageSize}, func(row runqueue.Row) error {
			found = append(found, row.RunID)
			c, err := store.AdoptRun(ctx, row.RunID, "", lease.DefaultDuration)
			must(err)
			if pageSize != 2 {
				return store.ParkRun(ctx, c, "")
			}
			return store.AbandonRun(ctx, c, runqueue.Failed, "")
		}))
		if diff := cmp.Diff([]string{"run-4", "run-3", "run-2", "run-1", "run-0"}, found); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", pageSize, diff)
		}
	}
	must(eachRun(ctx, store, runqueue.Query{Status: runqueue.Parked}, func(row runqueue.Row) error {
		return fmt.Errorf("run %s is left", row.RunID)
	}))
}
