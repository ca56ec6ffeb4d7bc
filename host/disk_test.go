package host_test

import (
	"sync/atomic"
	"syscall"
	"testing"

	"piworkflows/controller"
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
