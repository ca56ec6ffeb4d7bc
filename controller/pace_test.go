package controller_test

import (
	"context"
	"testing"
	"time"

	"piworkflows/controller"
)

// A reconciler that never settles must not keep a worker, the disk and whatever
// it looks at busy without pause.
func TestPassesThatAlwaysRunAgainAtOnceAreSlowedDown(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]body{
		"requeue":  answering(controller.Requeue(nothing), nil),
		"conflict": answering(controller.RawResult{}, &controller.ConflictError{Ref: ref("k")}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			m := w.manager(nil, define(body))
			for range controller.FreeRequeues {
				w.once(m)
				w.expectQueue("k", controller.QueueReady, 0, 0)
			}
			for _, delay := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
				w.once(m)
				w.expectQueue("k", controller.QueueDelayed, delay, 0)
				w.idle(m)
				w.clock.Advance(delay)
			}
			for range 10 {
				w.once(m)
				w.clock.Advance(controller.RequeueMax)
			}
			w.once(m)
			w.expectQueue("k", controller.QueueDelayed, controller.RequeueMax, 0)
			w.wake() // an event is no wish of the reconciler
			w.expectQueue("k", controller.QueueReady, 0, 0)
		})
	}
}

func TestAPassThatWaitsEndsTheRow(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]controller.RawResult{
		"settled":       controller.Settled(nothing),
		"requeue after": controller.RequeueAfter(time.Minute, nothing),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("k", `1`)
			next := controller.Requeue(nothing)
			m := w.manager(nil, define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
				return next, nil
			}))
			for range controller.FreeRequeues + 1 {
				w.once(m)
			}
			w.clock.Advance(time.Second)
			next = pause
			w.once(m)
			next = controller.Requeue(nothing)
			w.wake()
			w.once(m)
			w.expectQueue("k", controller.QueueReady, 0, 0)
		})
	}
}
