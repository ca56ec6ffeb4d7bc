package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// spooling is a world with a folder for what runs print, in which a process that
// was killed left something.
func spooling(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, newWork())
	w.paths.Spool = filepath.Join(w.paths.Project, "spool")
	left := filepath.Join(w.paths.Spool, "20270105T081500Z-dead-0a1b2c3d")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	live := spool.New(spool.Options{Dir: w.paths.Spool, RunID: "live"})
	live.Attempt("n", "a").Write(spool.Stdout, []byte("x"))
	t.Cleanup(live.Remove)
	return w
}

func (w *world) spools(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.paths.Spool, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range dirs {
		dirs[i] = filepath.Base(dirs[i])
	}
	return dirs
}

func TestAHostRemovesWhatKilledRunsPrinted(t *testing.T) {
	t.Parallel()
	w := spooling(t)
	w.host(t)
	if got := w.spools(t); len(got) != 1 || got[0] != "live" {
		t.Errorf("left: %v", got)
	}
}

func TestEraseRemovesWhatKilledRunsPrinted(t *testing.T) {
	t.Parallel()
	w := spooling(t)
	w.erase(t)
	if got := w.spools(t); len(got) != 1 || got[0] != "live" {
		t.Errorf("left: %v", got)
	}
}

// A folder of spools that is none keeps nobody from working.
func TestAHostStartsAlsoIfNothingCanBeSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.paths.Spool = filepath.Join(w.paths.Project, "spool")
	if err := os.WriteFile(w.paths.Spool, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.host(t)
}

// postbox is a notifier that keeps the IDs of what it takes.
type postbox []string

func (p *postbox) Notify(_ context.Context, n engine.Notification) (engine.NotificationReceipt, error) {
	*p = append(*p, n.ID())
	return engine.NotificationReceipt{NotificationID: n.ID()}, nil
}

func TestNotificationsReachTheNotifierOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	o := w.options()
	o.Catalog = tells(t, "tells")
	var box postbox
	o.Notifier = &box
	result, err := host.RunWorkflow(t.Context(), o, w.store, "tells", nil)
	if err != nil || result.Status != runbundle.Completed {
		t.Fatalf("%+v %v", result, err)
	}
	if want := (engine.Notification{RunID: result.RunID, NodeID: "tell", Occurrence: 1}).ID(); len(box) != 1 || box[0] != want {
		t.Errorf("sent %v, want %s", box, want)
	}
}

// A child run is a run like every other: it may notify too.
func TestNotificationsOfAChildReachTheNotifierOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	w.put(t, "a", "any")
	o := w.options()
	o.Catalog = tells(t, "work")
	var box postbox
	o.Notifier = &box
	h, err := host.New(t.Context(), o, w.store)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.RunOnce(t.Context())
	if err := errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
	if ready, _ := w.job(t, "a"); ready.Status != controller.True || len(box) != 1 {
		t.Errorf("parent %+v, sent %v", ready, box)
	}
}

// tells has the controller job and a workflow that notifies.
func tells(t *testing.T, name string) *host.Catalog {
	t.Helper()
	tell := workflow.Notify{ID: "tell", Message: func(context.Context, *workflow.Context) (string, error) { return "hello", nil }}
	catalog, err := host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", jobs{})},
		Workflows:   []*workflow.Definition{{Name: name, Revision: "1", StartAt: "tell", Nodes: []workflow.Node{tell}}},
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}
