package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
	"piworkflows/store/storetest"
)

func TestMain(m *testing.M) {
	live()
	goleak.VerifyTestMain(m)
}

// world is a real store, a clock that stands still, and what managers log.
type world struct {
	t     *testing.T
	clock *clocktest.Manual
	store *storetest.Faulty
	logs  *records
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New(), logs: newRecords()}
	w.store = storetest.NewFaulty(openStore(t, t.TempDir(), w.clock))
	return w
}

// openStore opens the store of a folder until the test ends.
func openStore(t testing.TB, dir string, c clock.Clock) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(dir, "controller.sqlite"), Scope: strings.Repeat("0", 24), Clock: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// body is the Reconcile of a definition.
type body func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error)

// define makes the definition of controller c.
func define(f body) *controller.Definition { return &controller.Definition{Name: "c", Reconcile: f} }

var nothing controller.Patch[json.RawMessage]

// answering makes a body that gives the same answer in each pass.
func answering(r controller.RawResult, err error) body {
	return func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) { return r, err }
}

func ref(key string) controller.Ref { return controller.Ref{Controller: "c", Key: key} }

// manager runs definitions on the world. The jitter of its backoff is off.
func (w *world) manager(change func(*controller.ManagerOptions), defs ...*controller.Definition) *controller.Manager {
	w.t.Helper()
	o := controller.ManagerOptions{
		Store: w.store, Definitions: defs, Clock: w.clock, Logger: w.logs.logger(),
		Random: func() float64 { return 0.5 },
	}
	if change != nil {
		change(&o)
	}
	m, err := controller.NewManager(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// put applies a spec to controller c.
func (w *world) put(key, spec string) controller.Raw {
	w.t.Helper()
	d := &controller.Definition{Name: "c"}
	r, err := controller.PutSpec(w.t.Context(), w.store.Inner(), d, put(spec, key))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Resource
}

func (w *world) get(key string) controller.Raw {
	w.t.Helper()
	r, err := w.store.Inner().Get(w.t.Context(), ref(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) queue(key string) controller.QueueRow {
	w.t.Helper()
	row, err := w.store.Inner().Queue(w.t.Context(), ref(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

// once runs the pass that is due.
func (w *world) once(m *controller.Manager) {
	w.t.Helper()
	if ran, err := m.RunOnce(w.t.Context()); err != nil || !ran {
		w.t.Fatalf("RunOnce = %v, %v; want a pass", ran, err)
	}
}

// idle expects that no pass can run.
func (w *world) idle(m *controller.Manager) {
	w.t.Helper()
	if ran, err := m.RunOnce(w.t.Context()); err != nil || ran {
		w.t.Fatalf("RunOnce = %v, %v; want nothing to do", ran, err)
	}
}

// goOnce runs a pass beside the test; wait expects that it ran.
func (w *world) goOnce(m *controller.Manager) (wait func()) {
	w.t.Helper()
	type outcome struct {
		ran bool
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		ran, err := m.RunOnce(w.t.Context())
		done <- outcome{ran, err}
	}()
	return func() {
		w.t.Helper()
		if o := <-done; o.err != nil || !o.ran {
			w.t.Fatalf("RunOnce = %v, %v; want a pass", o.ran, o.err)
		}
	}
}

// expectQueue compares the row of a key: state, delay from now, error count.
func (w *world) expectQueue(key string, state controller.QueueState, after time.Duration, failures int) {
	w.t.Helper()
	row := w.queue(key)
	if row.State != state || row.ConsecutiveErrors != failures {
		w.t.Errorf("%s is %s with %d errors (%s), want %s with %d", key, row.State, row.ConsecutiveErrors, row.LastError, state, failures)
	}
	if state == controller.QueueDelayed && (row.AvailableAt == nil || row.AvailableAt.Sub(w.clock.Now()) != after) {
		w.t.Errorf("%s is available at %v, want %s after %s", key, row.AvailableAt, after, w.clock.Now())
	}
}

// lastEvent returns the payload of the newest event of a key and type.
func (w *world) lastEvent(key string, kind controller.EventType) map[string]any {
	w.t.Helper()
	for _, e := range slices.Backward(w.events(key)) {
		if e.Type == kind {
			var payload map[string]any
			if err := json.Unmarshal(e.Payload, &payload); err != nil {
				w.t.Fatal(err)
			}
			return payload
		}
	}
	w.t.Fatalf("%s has no event %s", key, kind)
	return nil
}

func (w *world) events(key string) []controller.Event {
	w.t.Helper()
	events, err := w.store.Inner().Events(w.t.Context(), controller.EventQuery{Controller: "c", Key: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

// records keeps log records and lets a test wait for one.
type records struct {
	lines chan map[string]any
}

func newRecords() *records { return &records{lines: make(chan map[string]any, 10_000)} }

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write receives one record.
func (r *records) Write(line []byte) (int, error) {
	var record map[string]any
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&record); err != nil {
		return 0, err
	}
	r.lines <- record
	return len(line), nil
}

// await returns the next record with that message; those before are dropped.
func (r *records) await(t *testing.T, message string) map[string]any {
	t.Helper()
	for {
		select {
		case record := <-r.lines:
			if record["msg"] == message {
				return record
			}
		case <-t.Context().Done():
			t.Fatalf("no record %q: %v", message, t.Context().Err())
		}
	}
}
