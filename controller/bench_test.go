package controller_test

import (
	"context"
	"strconv"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
)

// BenchmarkPasses measures passes that settle, with their two transactions.
func BenchmarkPasses(b *testing.B) {
	for _, workers := range []int{1, 4, 16} {
		b.Run("workers="+strconv.Itoa(workers), func(b *testing.B) {
			s := openStore(b, b.TempDir(), clock.System())
			done := make(chan struct{}, b.N)
			d := define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
				done <- struct{}{}
				return controller.Settled(nothing), nil
			})
			for i := range b.N {
				if _, err := controller.PutSpec(b.Context(), s, d, put(`1`, strconv.Itoa(i))); err != nil {
					b.Fatal(err)
				}
			}
			m, err := controller.NewManager(controller.ManagerOptions{Store: s, Definitions: []*controller.Definition{d}, Workers: workers})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			b.ResetTimer()
			go func() { ended <- m.Run(ctx) }()
			for range b.N {
				<-done
			}
			b.StopTimer()
			cancel()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		})
	}
}
