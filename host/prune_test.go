package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

func TestPruneNeedsTheDefinitions(t *testing.T) {
	t.Parallel()
	w := strollAt(t, newTrip(), clocktest.New())
	o := w.options()
	o.Catalog = nil
	if p, err := host.Prune(t.Context(), o, w.store, false); err == nil || !p.Nothing() {
		t.Errorf("Prune = %+v, %v; want an error", p, err)
	}
}

const month = 30 * 24 * time.Hour

// strollAt opens a project with trips, and with strolls, which are soon over.
func strollAt(t *testing.T, way *trip, c clock.Clock) *world {
	t.Helper()
	w := openWorldAt(t, t.TempDir(), newWork(), c)
	stroll := &workflow.Definition{Name: "stroll", Revision: "1", StartAt: "walk", Nodes: []workflow.Node{
		workflow.Compute{ID: "walk", Run: func(context.Context, *workflow.Context) (any, error) { return 1, nil }},
	}}
	var err error
	if w.catalog, err = (host.Definitions{Workflows: []*workflow.Definition{way.definition(), stroll}}).Compile(); err != nil {
		t.Fatal(err)
	}
	return w
}

// over runs a stroll to its end.
func (w *world) over(t *testing.T) (runID string) {
	t.Helper()
	result, err := host.RunWorkflow(t.Context(), w.options(), w.store, "stroll", []byte(`1`))
	if err != nil || result.Status != runbundle.Completed {
		t.Fatalf("RunWorkflow = %+v, %v", result, err)
	}
	return result.RunID
}

// content is ready at once.
type content struct{}

func (content) Reconcile(context.Context, *controller.Pass, controller.Resource[struct{ N int }, struct{}]) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{
		Conditions: []controller.Condition{controller.ConditionTrue(controller.Ready, "Content", "")},
	}), nil
}

func (f *faulty) ForgetRun(ctx context.Context, runID string) (bool, error) {
	if err := f.ask("ForgetRun"); err != nil {
		return false, err
	}
	return f.Store.ForgetRun(ctx, runID)
}

// prune sweeps once.
func (w *world) prune(t *testing.T, r host.Retention, dryRun bool) host.Pruned {
	t.Helper()
	o := w.options()
	o.Retention = r
	p, err := host.Prune(t.Context(), o, w.store, dryRun)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// removed are the runs of a sweep, with the reasons.
func removed(p host.Pruned) (list []string) {
	for _, r := range p.Runs {
		list = append(list, r.RunID+" "+string(r.Reason))
	}
	return list
}

func wantRemoved(t *testing.T, p host.Pruned, want ...string) {
	t.Helper()
	if got := removed(p); !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v", got, want)
	}
}

// wantRun checks whether a run, its row and its bundle are there.
func (w *world) wantRun(t *testing.T, runID string, want bool) {
	t.Helper()
	if got := exists(w.dir(runID)); got != want {
		t.Errorf("there is a bundle of %s: %v, want %v", runID, got, want)
	}
	_, err := w.store.Run(t.Context(), runID)
	if _, gone := errors.AsType[*runqueue.NotFoundError](err); gone == want || err != nil && !gone {
		t.Errorf("row of %s: %v, want that it is there: %v", runID, err, want)
	}
}

func TestARunThatIsOverGoesWhenItIsOld(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip(), c)
	old := w.over(t)
	c.Advance(2 * month)
	young := w.over(t)
	c.Advance(month + time.Hour)
	wantRemoved(t, w.prune(t, host.Retention{}, true), old+" age")
	w.wantRun(t, old, true)
	wantRemoved(t, w.prune(t, host.Retention{Runs: host.Forever}, false))
	wantRemoved(t, w.prune(t, host.Retention{}, false), old+" age")
	w.wantRun(t, old, false)
	w.wantRun(t, young, true)
	wantRemoved(t, w.prune(t, host.Retention{}, false))
}

func TestTheOldestRunsGoWhenAllAreTooBig(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip(), c)
	first, second, third := w.over(t), w.over(t), w.over(t)
	size, err := runbundle.Size(w.dir(third))
	if err != nil || size == 0 {
		t.Fatalf("Size = %d, %v", size, err)
	}
	wantRemoved(t, w.prune(t, host.Retention{RunBytes: 10 * size}, false))
	wantRemoved(t, w.prune(t, host.Retention{RunBytes: size + size/2}, false), second+" size", first+" size")
	w.wantRun(t, first, false)
	w.wantRun(t, third, true)
}

// The status decides, not the age: what waits or can go on stays.
func TestARunThatIsNotOverStays(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	way := newTrip()
	w := strollAt(t, way, c)
	parked := w.parked(t, way)
	close(way.home)
	waiting := w.waiting(t)
	broken := w.over(t)
	if err := os.WriteFile(filepath.Join(w.dir(broken), "manifest.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	held := w.over(t)
	lock, err := oslock.TryLockDir(w.dir(held))
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(12 * month)
	wantRemoved(t, w.prune(t, host.Retention{}, false))
	for _, runID := range []string{parked, waiting, broken, held} {
		w.wantRun(t, runID, true)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	// Whoever takes the question back ends the wait.
	w.mustCancel(t, waiting, "waiting")
	c.Advance(12 * month)
	wantRemoved(t, w.prune(t, host.Retention{}, false), held+" age", waiting+" age")
}

// A run and its continuation go together, the run first: it must not be answered
// once more.
func TestAnAnsweredRunStaysAsLongAsItsContinuation(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip().stay(), c)
	parent := w.waiting(t)
	c.Advance(3 * month)
	result, err := w.answer(t, parent, `1`)
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(month)
	wantRemoved(t, w.prune(t, host.Retention{}, false))
	wantRemoved(t, w.prune(t, host.Retention{RunBytes: 1, Runs: host.Forever}, true), result.RunID+" size", parent+" size")
	c.Advance(3 * month)
	wantRemoved(t, w.prune(t, host.Retention{}, false), result.RunID+" age", parent+" age")
	w.wantRun(t, parent, false)
	w.wantRun(t, result.RunID, false)
}

// A sweep that dies between the bundle and the row is finished by the next one.
func TestASweepThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip(), c)
	first, second := w.over(t), w.over(t)
	c.Advance(4 * month)
	broken := errors.New("the disk is full")
	o := w.options()
	p, err := host.Prune(t.Context(), o, w.failing(times(1, "ForgetRun", broken)), false)
	if !errors.Is(err, broken) {
		t.Fatalf("Prune = %v, want %v", err, broken)
	}
	wantRemoved(t, p, second+" age") // one failure keeps nothing else
	if exists(w.dir(first)) {
		t.Error("the row goes before the bundle")
	}
	wantRemoved(t, w.prune(t, host.Retention{}, false), first+" age")
	w.wantRun(t, first, false)
}

func TestEventsAndEffectsGoWhenTheyAreOld(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip(), c)
	ref := controller.Ref{Controller: "c", Key: "k"}
	if _, err := w.store.Put(t.Context(), controller.Put{Ref: ref, Spec: []byte(`1`)}); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := w.store.Enqueue(t.Context(), ref, ""); err != nil {
			t.Fatal(err)
		}
	}
	if p := w.prune(t, host.Retention{}, false); !p.Nothing() {
		t.Errorf("young events went: %+v", p)
	}
	c.Advance(2 * time.Hour)
	if p := w.prune(t, host.Retention{}, false); p.Events != 101 {
		t.Errorf("%d events went, want all but 200", p.Events)
	}
	c.Advance(month)
	if p := w.prune(t, host.Retention{Events: host.Forever, EventsOfResource: host.Forever}, false); !p.Nothing() {
		t.Errorf("what is kept for ever went: %+v", p)
	}
	if p := w.prune(t, host.Retention{}, false); p.Events != 199 {
		t.Errorf("%d events went, want all but the newest of the store", p.Events)
	}
}

// Completed resources go where their controller says so, and only once nothing
// has changed for that long.
func TestACompletedResourceGoesByOptInOnly(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := openWorldAt(t, t.TempDir(), newWork(), c)
	w.catalog = compile(t, controller.Define("keeps", content{}), controller.Define("later", later{}, controller.WithCompletedTTL(month)),
		controller.Define("goes", content{}, controller.WithCompletedTTL(month)))
	put := func(name, key, spec string) {
		t.Helper()
		d, err := w.catalog.Controllers.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := controller.PutSpec(t.Context(), w.store, d, controller.Put{Ref: controller.Ref{Controller: name, Key: key}, Spec: []byte(spec)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"keeps", "later", "goes"} {
		put(name, "a", `{}`)
	}
	put("goes", "changed", `{}`)
	w.once(t)
	c.Advance(month / 2)
	put("goes", "changed", `{"N":1}`)
	w.once(t)
	c.Advance(month/2 + time.Second)
	want := fmt.Sprint([]controller.Ref{{Controller: "goes", Key: "a"}})
	for _, dryRun := range []bool{true, false} {
		if p := w.prune(t, host.Retention{}, dryRun); fmt.Sprint(p.Resources) != want {
			t.Errorf("dry run %v: deleted %v, want %s", dryRun, p.Resources, want)
		}
	}
	if _, err := w.store.Get(t.Context(), controller.Ref{Controller: "goes", Key: "a"}); !errors.Is(err, controller.ErrNotFound) {
		t.Errorf("Get = %v, want that it is gone", err)
	}
	c.Advance(month / 2)
	w.once(t) // the host does it too
	if _, err := w.store.Get(t.Context(), controller.Ref{Controller: "goes", Key: "changed"}); !errors.Is(err, controller.ErrNotFound) {
		t.Errorf("Get = %v, want that the host deleted it", err)
	}
}

// told is a log that can be waited for.
type told struct {
	bytes.Buffer
	pruned chan struct{}
}

func (l *told) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "pruned what is old") {
		l.pruned <- struct{}{}
	}
	return l.Buffer.Write(text)
}

// Retention that nobody runs is none: a host sweeps when it starts, and again.
func TestAHostSweepsByItself(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	w := strollAt(t, newTrip(), c)
	first := w.over(t)
	c.Advance(4 * month)
	log := &told{pruned: make(chan struct{}, 10)}
	o := w.options()
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	h, err := host.New(t.Context(), o, w.store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	await(t, log.pruned)
	w.wantRun(t, first, false)
	second := w.over(t)
	if err := c.AwaitTimer(t.Context(), time.Hour); err != nil { // the next sweep
		t.Fatal(err)
	}
	c.Advance(4 * month)
	await(t, log.pruned)
	w.wantRun(t, second, false)
	stop()
	if err := errors.Join(await(t, ended), h.Close()); err != nil {
		t.Error(err)
	}
}
