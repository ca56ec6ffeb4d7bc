package host_test

import (
	"errors"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/store/sqlite"
)

var errNoTable = errors.New("no such column: detached")

// always fails one operation, whenever it is asked for.
func always(op string, err error) func(string) error { return times(-1, op, err) }

// A host that runs once does not wait for a store that never answers.
func TestRunOnceEndsWithAStoreThatFailsForGood(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ClaimWorkers", "ClaimRun", "Claim"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newWork())
			w.put(t, "a", "quick")
			h, err := host.New(t.Context(), w.options(), w.failing(always(op, errNoTable)))
			must(t, err)
			ended := make(chan error, 1)
			go func() {
				_, err := h.RunOnce(t.Context())
				ended <- err
			}()
			if err := await(t, ended); !errors.Is(err, errNoTable) {
				t.Errorf("it ended with %v", err)
			}
			must(t, h.Close())
		})
	}
}

// One that is busy, or whose disk is full, is asked again.
func TestRunOnceWaitsForAStoreThatFailsForNow(t *testing.T) {
	t.Parallel()
	for name, passing := range map[string]error{
		"busy": &sqlite.BusyError{Op: "claim", Waited: time.Second, Err: errBusy},
		"full": &sqlite.DiskError{Op: "claim", Path: "s", Full: true, Err: errBusy},
	} {
		for _, op := range []string{"ClaimWorkers", "ClaimRun", "Claim"} {
			t.Run(name+" "+op, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, newWork())
				w.put(t, "a", "quick")
				w.onceOn(t, w.failing(times(1, op, passing)))
				if ready, _ := w.job(t, "a"); ready.Status != controller.True {
					t.Errorf("%+v", ready)
				}
			})
		}
	}
}
