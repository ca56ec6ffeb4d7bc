package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/storetest"
)

var errDead = errors.New("this process is dead")

// The process dies at the n-th operation of the store, for every n: before it,
// or after it but before the answer arrives. Whatever n is, the next process
// brings the key to its end and the provider is changed once.
func TestCrashAtEveryStoreOperation(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("operation done %v", done), func(t *testing.T) {
			t.Parallel()
			n := 1
			for crashAt(t, n, done) {
				n++
			}
			if n < 9 {
				t.Errorf("only %d operations", n-1)
			}
		})
	}
}

// crashAt reports whether the work had an n-th operation.
func crashAt(t *testing.T, n int, done bool) (crashed bool) {
	t.Helper()
	w := newWorld(t)
	w.put("k", `1`)
	p := newProvider()
	p.note = w.store.Note
	reconcile := func(ctx context.Context, pass *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		record, err := pass.Effects.Ensure(ctx, p.effect("e"))
		if err != nil {
			return controller.RawResult{}, err
		}
		return controller.Settled(controller.Patch[json.RawMessage]{ControllerStatus: text(`"` + string(record.State) + `"`)}), nil
	}
	crashed = w.lifeUntil(n, done, w.manager(nil, define(reconcile)))
	w.clock.Advance(time.Minute) // the lease of the dead runs out
	w.settle(w.manager(nil, define(reconcile)))
	applied := 0
	for _, c := range p.calls() {
		if c == "apply e" {
			applied++
		}
	}
	if got := string(w.get("k").Status.ControllerStatus); applied != 1 || got != `"applied"` {
		t.Errorf("dead at operation %d (done %v): applied %d times, status %s", n, done, applied, got)
	}
	return crashed
}

// lifeUntil runs passes until the key is settled or the process dies at the
// n-th operation, from which on its store fails.
func (w *world) lifeUntil(n int, done bool, m *controller.Manager) (crashed bool) {
	w.t.Helper()
	ctx, die := context.WithCancel(w.t.Context())
	defer die()
	count := 0
	hook := func(string) error {
		if count++; count < n {
			return nil
		}
		crashed = true
		die()
		return errDead
	}
	alive := func(string) error {
		if count >= n {
			return errDead
		}
		return nil
	}
	if done {
		w.store.Hook(alive, hook)
	} else {
		w.store.Hook(hook, nil)
	}
	for ran, err := m.RunOnce(ctx); ran && err == nil; {
		ran, err = m.RunOnce(ctx)
	}
	w.store.Hook(nil, nil)
	return crashed
}

// settle runs passes until the key has no row, moving the clock to each delay.
func (w *world) settle(m *controller.Manager) {
	w.t.Helper()
	for range 20 {
		row := w.queue("k")
		if row.State == controller.QueueNone {
			return
		}
		if row.AvailableAt != nil && row.State == controller.QueueDelayed {
			w.clock.Advance(row.AvailableAt.Sub(w.clock.Now()))
		}
		w.once(m)
	}
	w.t.Fatal("the key does not settle")
}

// A process that manages a store and changes the outside is killed at every
// durable step, of the store's and between the outside and the store. The next one
// brings everything to its end, and nothing was made twice.
func TestCrashOfAProcessLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	steps, _ := lead(t, t.TempDir(), 0, 0)
	for n := 1; n <= steps; n++ {
		t.Run(fmt.Sprintf("step %d of %d", n, steps), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lead(t, dir, 0, n) // of two lives one may have a step more
			lead(t, dir, 1, 0)
			mustHaveEnded(t, dir)
		})
	}
}

// Two processes die, one after the other, before the third brings everything to
// its end.
func TestCrashAfterACrashLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	steps, _ := lead(t, t.TempDir(), 0, 0)
	every := steps / 4
	if storetest.Stressed() {
		every = steps / 12
	}
	for n := 1; n <= steps; n += every {
		for m := 1 + n%3; m <= steps; m += every {
			t.Run(fmt.Sprintf("steps %d and %d", n, m), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				lead(t, dir, 0, n)
				lead(t, dir, 1, m)
				lead(t, dir, 2, 0)
				mustHaveEnded(t, dir)
			})
		}
	}
}

// mustHaveEnded looks at the outside and at the store that lives left behind.
func mustHaveEnded(t *testing.T, dir string) {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(dir, "outside"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Fields(strings.ReplaceAll(string(lines), " ", "-")), []string{"a-first", "a-second", "b-cleanup", "b-first", "b-second"}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the outside (-want +got):\n%s", diff)
	}
	s := openStore(t, dir, clocktest.New())
	r, err := s.Get(t.Context(), ref("a"))
	if err != nil || string(r.Status.ControllerStatus) != `"succeeded"` {
		t.Errorf("a ended as %s, %v", r.Status.ControllerStatus, err)
	}
	if _, err := s.Get(t.Context(), ref("b")); !errors.Is(err, controller.ErrNotFound) {
		t.Errorf("b is there, or %v", err)
	}
	children, err := s.Children(t.Context(), ref("a"))
	if err != nil || len(children) != 1 || children[0].State != controller.RunSucceeded || children[0].Attempt != 1 {
		t.Errorf("children %+v, %v", children, err)
	}
}
