package controller_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// Only counts are the same on every disk: what a pass waits for is the number of
// times that it waits.
func TestALonePassWaitsForTheDiskOnceAndAnEffectTwiceMore(t *testing.T) {
	t.Parallel()
	applies := newProvider()
	for _, test := range []struct {
		name      string
		reconcile func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error)
		syncs     int64
	}{
		{"nothing to do", answering(controller.Settled(nothing), nil), 1},
		{"an effect", func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
			_, err := p.Effects.Ensure(ctx, applies.effect("e"))
			return controller.Settled(nothing), err
		}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var syncs atomic.Int64
			s, err := sqlite.Open(t.Context(), sqlite.Options{
				Path: filepath.Join(t.TempDir(), "s.sqlite"), Scope: strings.Repeat("0", 24),
				Fault: func(op, _ string) error {
					if op == "sync" {
						syncs.Add(1)
					}
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			d := define(test.reconcile)
			if _, err := controller.PutSpec(t.Context(), s, d, put(`1`, "k")); err != nil {
				t.Fatal(err)
			}
			m, err := controller.NewManager(controller.ManagerOptions{Store: s, Definitions: []*controller.Definition{d}})
			if err != nil {
				t.Fatal(err)
			}
			before := syncs.Load()
			if ran, err := m.RunOnce(t.Context()); !ran || err != nil {
				t.Fatalf("RunOnce = %v, %v", ran, err)
			}
			if got := syncs.Load() - before; got != test.syncs {
				t.Errorf("%d syncs, want %d", got, test.syncs)
			}
		})
	}
}
