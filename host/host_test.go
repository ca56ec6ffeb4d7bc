package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

func TestASecondHostIsRefusedAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	first := w.host(t)
	other := openWorld(t, w.paths.Project, newWork())
	_, err := hostOf(other)
	held, ok := errors.AsType[*host.HeldError](err)
	if !ok || held.Holder == "" {
		t.Fatalf("New = %v, want a *HeldError with its holder", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	other.host(t)
}

// The lock is that of the store, whatever it is called and whatever lies beside it.
func TestTheLockBelongsToTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.host(t)
	beside := openWorld(t, w.paths.Project, newWork())
	beside.paths.Store = filepath.Join(filepath.Dir(w.paths.Store), "another.sqlite")
	link := filepath.Join(w.paths.Project, "link.sqlite")
	if err := os.Symlink(w.paths.Store, link); err != nil {
		t.Fatal(err)
	}
	same := openWorld(t, w.paths.Project, newWork())
	same.paths.Store = link
	if _, err := hostOf(same); !isHeld(err) {
		t.Errorf("another name of the store: %v", err)
	}
	if err := os.WriteFile(beside.paths.Store, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	beside.host(t)
}

func isHeld(err error) bool {
	_, ok := errors.AsType[*host.HeldError](err)
	return ok
}

func TestRunOnceListsWhatIsDelayedAndWhatFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.catalog = compile(t, controller.Define("later", later{}), controller.Define("broken", broken{}))
	for _, name := range []string{"later", "broken"} {
		put := controller.Put{Ref: controller.Ref{Controller: name, Key: "k"}, Spec: []byte(`{}`)}
		if _, err := w.store.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	w.failBefore(t, "broken", 3) // so that the next backoff is beyond the horizon
	s := w.once(t)
	if len(s.Delayed) != 2 || len(s.Failed) != 1 {
		t.Fatalf("%+v", s)
	}
	if failed := s.Failed[0]; failed.Controller != "broken" || failed.LastError != errBroken.Error() {
		t.Errorf("failed: %+v", failed)
	}
}

// failBefore records n errors of the one resource of a controller.
func (w *world) failBefore(t *testing.T, name string, n int) {
	t.Helper()
	for range n {
		claim, err := w.store.Claim(t.Context(), []string{name}, patience)
		if err != nil || claim == nil {
			t.Fatalf("Claim = %v, %v", claim, err)
		}
		if _, err := w.store.Finish(t.Context(), claim, controller.Finish{Err: "before"}); err != nil {
			t.Fatal(err)
		}
	}
}

type none struct{}

// later asks for a pass beyond the horizon of RunOnce, broken always fails.
type (
	later  struct{}
	broken struct{}
)

var errBroken = errors.New("it is broken")

func (later) Reconcile(context.Context, *controller.Pass, controller.Resource[none, none]) (controller.Result[none], error) {
	return controller.RequeueAfter(patience*10, controller.Patch[none]{}), nil
}

func (broken) Reconcile(_ context.Context, _ *controller.Pass, r controller.Resource[none, none]) (controller.Result[none], error) {
	return controller.Result[none]{}, errBroken
}

func compile(t *testing.T, defs ...*controller.Definition) *host.Catalog {
	t.Helper()
	c, err := host.Definitions{Controllers: defs}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefusesWhatItCannotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	for name, change := range map[string]func(*host.Options){
		"no catalog":             func(o *host.Options) { o.Catalog = nil },
		"a negative limit":       func(o *host.Options) { o.ChildRuns = -1 },
		"a negative worker pool": func(o *host.Options) { o.Workers = -1 },
	} {
		o := w.options()
		change(&o)
		if h, err := host.New(t.Context(), o, w.store); err == nil {
			t.Errorf("%s: New = %v", name, h)
		}
	}
	w.host(t) // no refusal left a lock behind
}

func TestCompileReportsEveryProblem(t *testing.T) {
	t.Parallel()
	twice := newWork().definition()
	_, err := host.Definitions{
		Controllers: []*controller.Definition{{Name: "No"}},
		Workflows:   []*workflow.Definition{twice, twice, {Name: "empty"}},
	}.Compile()
	duplicate, isDuplicate := errors.AsType[*host.DuplicateDefinitionError](err)
	if _, ok := errors.AsType[*workflow.InvalidError](err); !ok || !isDuplicate || duplicate.Name != "work" {
		t.Fatalf("Compile = %v", err)
	}
	if _, ok := errors.AsType[*controller.NameError](err); !ok {
		t.Errorf("Compile = %v, and says nothing of the controller", err)
	}
}

func TestAFailingSourceStartsAgainFromItsCursor(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() error{
		"an error": func() error { return errors.New("the connection is gone") },
		"a panic":  func() error { panic("the connection is gone") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				startAgain(t, &flaky{cursors: make(chan string), delivered: make(chan controller.DeliveryResult, 1), end: end})
			})
		})
	}
}

func startAgain(t *testing.T, source *flaky) {
	t.Helper()
	w := openWorldAt(t, t.TempDir(), newWork(), clock.System())
	w.catalog = compile(t, controller.Define("later", later{}, controller.WithSources(source)))
	if _, err := w.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: "later", Key: "k"}, Spec: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	h := w.host(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	if c := await(t, source.cursors); c != "" {
		t.Errorf("the first cursor is %q", c)
	}
	if r := await(t, source.delivered); r.Enqueued != 1 || r.Unknown != 1 {
		t.Errorf("delivered: %+v", r)
	}
	if c := await(t, source.cursors); c != "after-k" {
		t.Errorf("the second cursor is %q", c)
	}
	stop()
	if err := await(t, ended); err != nil {
		t.Fatal(err)
	}
}

// flaky delivers once, then fails; it tells its cursors.
type flaky struct {
	cursors   chan string
	delivered chan controller.DeliveryResult
	end       func() error
}

func (*flaky) Name() string { return "flaky" }

func (f *flaky) Run(ctx context.Context, in controller.Intake) error {
	select {
	case f.cursors <- in.Cursor:
	case <-ctx.Done():
		return ctx.Err()
	}
	if in.Cursor != "" {
		<-ctx.Done()
		return ctx.Err()
	}
	r, err := in.Deliver(ctx, controller.Delivery{ID: "1", Cursor: "after-k", Keys: []string{"k", "unknown"}})
	if err != nil {
		return err
	}
	f.delivered <- r
	return f.end()
}

func TestEraseRemovesOnlyItsOwnRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "quick")
	w.once(t)
	runs, err := w.store.Runs(t.Context(), runqueue.Query{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("Runs = %v, %v", runs, err)
	}
	foreign := []string{
		filepath.Join(w.paths.Runs, "20270101T000000Z-other-0a1b2c3d"), // of another project
		filepath.Join(filepath.Dir(w.paths.Store), "mine"),             // beside a store that a user placed
	}
	for _, dir := range foreign {
		mustMkdir(t, dir)
	}

	w.erase(t)
	if exists(filepath.Join(w.paths.Runs, runs[0].RunID)) {
		t.Error("the run is still there")
	}
	for _, dir := range foreign {
		if !exists(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	left, err := os.ReadDir(filepath.Dir(w.paths.Store))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the store: %v, %v", left, err)
	}
}

func TestEraseLeavesNothingOfAStoreAtItsOwnPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.once(t)
	w.erase(t)
	if exists(filepath.Dir(w.paths.Store)) {
		t.Error("the folder of the store is still there")
	}
}
