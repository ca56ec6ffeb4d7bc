package host_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// weakDisk opens the store of a world anew, on a disk that fails while broken has an
// error.
func (w *world) weakDisk(t *testing.T) (on *world, broken *atomic.Pointer[error]) {
	t.Helper()
	broken = &atomic.Pointer[error]{}
	scope, err := sqlite.Scope(w.paths.Project)
	must(t, err)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: w.paths.Store, Scope: scope, Fault: func(op, _ string) error {
		if err := broken.Load(); err != nil && op != "open" {
			return *err
		}
		return nil
	}})
	must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	own := *w
	own.store = store
	return &own, broken
}

// A disk that takes nothing, while runs end: the host says so, keeps what it has, and
// goes on when it is mended. No run begins twice.
func TestAHostGoesOnWhenItsDiskDoes(t *testing.T) {
	t.Parallel()
	for code, cause := range map[string]error{"disk_full": syscall.ENOSPC, "read_only": syscall.EROFS} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			work := newWork()
			w, broken := newWorld(t, work).weakDisk(t)
			keys := []string{"a", "b", "c"}
			for _, key := range keys {
				w.put(t, key, "hang")
			}
			base, stop := w.listening(t, w.listeningOptions())
			for range keys {
				await(t, work.started)
			}
			until(t, base, "")
			broken.Store(&cause)
			close(work.release)
			until(t, base, code)
			if err := w.tryPut(t, "d", "quick"); err == nil {
				t.Error("a write on a broken disk went well")
			}
			broken.Store(nil)
			for _, key := range keys {
				w.awaitReady(t, key)
				if ready, status := w.job(t, key); ready.Status != controller.True || status.Attempts != 1 {
					t.Errorf("%s: %+v %+v", key, ready, status)
				}
			}
			until(t, base, "")
			must(t, stop())
		})
	}
}

// awaitReady waits until a resource is ready.
func (w *world) awaitReady(t *testing.T, key string) {
	t.Helper()
	var after controller.Cursor
	for {
		if ready, _ := w.job(t, key); ready.Status == controller.True {
			return
		}
		changes, err := w.store.Changes(t.Context(), after, controller.ChangeFilter{})
		must(t, err)
		after = changes.Next
	}
}

// weakRuns is a disk under the records of runs that fails while broken has an error,
// and leaves what the host does in the folder of runs itself alone.
func weakRuns(o *host.Options) (broken *atomic.Pointer[error]) {
	broken = &atomic.Pointer[error]{}
	o.FS = durable.WithHook(func(op durable.Op, path string) error {
		if err := broken.Load(); err != nil && strings.HasPrefix(path, o.Runs) {
			return *err
		}
		return nil
	})
	return broken
}

// heard waits until a log has said something.
type heard struct {
	slog.Handler

	lines chan string
}

func (h heard) Handle(_ context.Context, r slog.Record) error {
	select {
	case h.lines <- r.Message:
	default: // nobody listens any more
	}
	return nil
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }
func (h heard) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h heard) WithGroup(string) slog.Handler            { return h }

func (h heard) await(t *testing.T, message string) {
	t.Helper()
	said := ""
	for said != message {
		said = await(t, h.lines)
	}
}

// The same for the disk of the records of runs, while some run and others are to
// begin: none is lost, and none ends as failed.
func TestRunsGoOnWhenTheirDiskDoes(t *testing.T) {
	t.Parallel()
	for code, cause := range map[string]error{"disk_full": syscall.ENOSPC, "read_only": syscall.EROFS} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			work, log := newWork(), heard{lines: make(chan string, 1000)}
			w := newWorld(t, work)
			o := w.listeningOptions()
			o.Lease, o.Logger = time.Second, slog.New(log)
			broken := weakRuns(&o)
			w.put(t, "a", "hang")
			detached, err := host.QueueWorkflow(t.Context(), o, w.store, "work", []byte(`{"mode":"hang"}`))
			must(t, err)
			base, stop := w.listening(t, o)
			await(t, work.started)
			await(t, work.started)
			until(t, base, "")

			broken.Store(&cause)
			until(t, base, code)
			close(work.release)
			log.await(t, "the run was not brought to its end; it is tried again")
			w.put(t, "b", "quick")
			for range 3 { // "b", what "a" left, and the detached run
				log.await(t, "the run waits for its disk")
			}
			if row := w.row(t, detached); row.Status.Final() {
				t.Errorf("the detached run is %+v", row)
			}

			broken.Store(nil)
			for _, key := range []string{"a", "b"} {
				w.awaitReady(t, key)
			}
			w.awaitRow(t, detached, final)
			w.mustBe(t, detached, runqueue.Done, runbundle.Completed)
			until(t, base, "")
			must(t, stop())
		})
	}
}
