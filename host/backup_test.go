package host_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

func (w *world) backup(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "copy.sqlite")
	_, err := host.Backup(t.Context(), w.paths, clock.System(), slog.New(slog.DiscardHandler), file, nil)
	must(t, err)
	return file
}

func (w *world) restore(t *testing.T, file string) (host.Restoration, error) {
	t.Helper()
	return host.Restore(t.Context(), host.RestoreOptions{Paths: w.paths, From: file, Actor: "ada"})
}

// fates puts a copy of the store in its place, and returns what becomes of the runs
// that have no record. The store is closed then.
func (w *world) fates(t *testing.T) map[string]host.RunFate {
	t.Helper()
	file := w.backup(t)
	must(t, w.store.Close())
	r, err := w.restore(t, file)
	must(t, err)
	fates := map[string]host.RunFate{}
	for _, run := range r.Runs {
		fates[run.RunID] = run.Fate
	}
	return fates
}

// A run that was under way when the copy was made and has no record here begins
// anew if it is a child, and is ended if not, unless another folder of runs may have
// it; a copy of a project with a child run comes to the same end.
func TestRunsWithoutARecordAfterARestoration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "quick")
	g, err := w.catalog.Workflow("work")
	must(t, err)
	source, err := json.Marshal(g.Source())
	must(t, err)
	c, err := w.store.Claim(t.Context(), []string{"job"}, lease.DefaultDuration)
	must(t, err)
	_, _, err = w.store.ReserveChild(t.Context(), c, controller.ChildReservation{
		RequestKey: "work", Workflow: "work", Identity: controller.WorkflowIdentity{Source: source, Digest: g.Digest()}, Input: []byte(`{"mode":"quick"}`),
		RunID: "child", Version: c.Resource.Metadata.ResourceVersion,
	})
	must(t, err)
	w.park(t, "lost")
	w.parkIn(t, "elsewhere", uuid.NewString())
	fates := w.fates(t)
	if len(fates) != 2 || fates["lost"] != host.FateEnded || fates["child"] != host.FateAnew {
		t.Errorf("fates %v", fates)
	}
	w.reopened(t)
	if row := w.row(t, "lost"); row.Status != runqueue.Failed || row.Error == "" {
		t.Errorf("row %+v", row)
	}
	if row := w.row(t, "elsewhere"); row.Status != runqueue.Parked {
		t.Errorf("row %+v", row)
	}
	w.once(t)
	if ready, _ := w.job(t, "a"); ready.Status != controller.True {
		t.Errorf("the resource is %+v", ready)
	}
}

// A detached run that a host gave back before it began has no record, and begins after
// a restoration too; that of an answer does if the run that was answered is here.
func TestDetachedRunsThatHadNotBegunAfterARestoration(t *testing.T) {
	t.Parallel()
	w := travel(t, t.TempDir(), newTrip().stay())
	waits, err := host.RunWorkflow(t.Context(), w.options(), w.store, "trip", []byte(`"south"`))
	must(t, err)
	fresh := w.queued(t)
	answer, err := host.QueueAnswer(t.Context(), w.options(), w.store, waits.RunID, []byte(`"north"`))
	must(t, err)
	w.awaits(t, "gone")
	must(t, w.store.QueueRun(t.Context(), runqueue.NewRun{
		RunID: "orphan", Workflow: "trip", Source: []byte("{}"), Input: []byte("1"), ContinuationOf: "gone",
	}))
	w.giveBackAll(t)
	fates := w.fates(t)
	want := map[string]host.RunFate{fresh: host.FateAnew, answer: host.FateAnew, "orphan": host.FateEnded}
	if diff := cmp.Diff(want, fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	again := travel(t, w.paths.Project, newTrip().stay())
	again.once(t)
	again.mustBe(t, fresh, runqueue.Done, runbundle.Waiting)
	again.mustBe(t, answer, runqueue.Done, runbundle.Completed)
}

// awaits leaves the row of a run that waits for an answer, and has no record.
func (w *world) awaits(t *testing.T, runID string) {
	t.Helper()
	c, err := w.store.Launch(t.Context(), runqueue.NewRun{
		RunID: runID, Workflow: "trip", Source: []byte("{}"), Input: []byte("1"),
	}, lease.DefaultDuration)
	must(t, err)
	must(t, w.store.AwaitAnswer(t.Context(), c))
}

// giveBackAll claims all detached runs as a host does, which stops before they begin.
func (w *world) giveBackAll(t *testing.T) {
	t.Helper()
	var claims []*runqueue.Claim
	for {
		c, err := w.store.ClaimRun(t.Context(), runqueue.ClaimQuery{Detached: true}, lease.DefaultDuration)
		must(t, err)
		if c == nil {
			break
		}
		claims = append(claims, c)
	}
	for _, c := range claims {
		must(t, w.store.ParkRun(t.Context(), c, ""))
	}
}

func TestRestoreRefusesWhileAHostRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	file := w.backup(t)
	w.host(t)
	_, err := w.restore(t, file)
	if _, ok := errors.AsType[*host.HeldError](err); !ok {
		t.Errorf("error %v", err)
	}
}

// reopened opens the project whose store was closed already.
func (w *world) reopened(t *testing.T) {
	t.Helper()
	*w = *openWorldAt(t, w.paths.Project, newWork(), w.clock)
}
