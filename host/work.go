package host

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// DrainError says that a host could not stop in time. What it left under way goes
// with its process: end that.
type DrainError struct {
	// After is how long it was waited for.
	After time.Duration
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("the host did not stop within %s: what is under way is cut off with its process, and the next host "+
		"goes on with it; see with runs and explain what that is", e.After)
}

// ErrorCode is the stable code of the error.
func (*DrainError) ErrorCode() string { return "drain_timeout" }

// Run works until ctx ends, then stops: passes are asked to return and their
// keys released, child runs end as interrupted and their parents are woken.
// Nothing becomes failed because of a stop. It returns an error only for what
// could not be stopped: a *controller.StopError, or after Options.Drain a
// *DrainError.
func (h *Host) Run(ctx context.Context) error {
	return h.work(ctx, h.sources.run, h.sweeper.run, h.tellPeople, func(ctx context.Context) {
		h.announce(ctx)
		h.follow(ctx)
	})
}

// work runs the manager, the run workers and more until ctx ends, and then as
// long as a stop may take.
func (h *Host) work(ctx context.Context, more ...func(context.Context)) error {
	ended := make(chan error, 1)
	go func() { ended <- h.together(ctx, more) }()
	select {
	case err := <-ended:
		if ctx.Err() == nil {
			return err
		}
		ended <- err // it was quick to stop
	case <-ctx.Done():
	}
	return h.stop(context.WithoutCancel(ctx), ended)
}

// stop waits for the end of the work, as long as a stop may take.
func (h *Host) stop(ctx context.Context, ended <-chan error) error {
	h.health.phase.Store(phaseStopping)
	began := h.clock.Now()
	h.log.InfoContext(ctx, "stopping", "drainMs", h.drain.Milliseconds(), "passes", h.passes.running(),
		"childRuns", h.runner.active.Load(), "detachedRuns", h.detached.running())
	limit := h.clock.NewTimer(h.drain)
	defer limit.Stop()
	select {
	case err := <-ended:
		h.log.InfoContext(ctx, "stopped", "tookMs", h.clock.Now().Sub(began).Milliseconds())
		return err
	case <-limit.C():
		h.abandon(ctx)
		err := &DrainError{After: h.drain}
		h.log.ErrorContext(ctx, "not stopped in time", "error", err)
		return err
	}
}

// together runs the endpoint, and the workers whenever it is our turn. The endpoint
// is the last to go: it tells that the host stops.
func (h *Host) together(ctx context.Context, more []func(context.Context)) error {
	listening, mute := context.WithCancel(context.WithoutCancel(ctx))
	var endpoint sync.WaitGroup
	if h.endpoint != nil {
		endpoint.Go(func() { h.endpoint.run(listening) })
	}
	defer endpoint.Wait()
	defer mute()
	return h.serve(ctx, func(ctx context.Context) error { return h.workers(ctx, more) })
}

// workers runs the parts of a host until ctx ends or the manager does.
func (h *Host) workers(ctx context.Context, more []func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup
	parts.Go(func() { h.runner.run(ctx) })
	parts.Go(func() { h.detached.run(ctx) })
	for _, part := range more {
		parts.Go(func() { part(ctx) })
	}
	err := h.manager.Run(ctx)
	cancel()
	parts.Wait()
	return err
}
