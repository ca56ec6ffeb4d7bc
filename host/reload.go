package host

import (
	"context"
	"sync"

	"piworkflows/clock"
)

// follow watches the sources of the definitions until ctx ends. Nothing polls: a
// source says when it changed.
func (h *Host) follow(ctx context.Context) {
	var active sync.WaitGroup
	defer active.Wait()
	for _, source := range h.catalog.sources {
		active.Go(func() {
			for ctx.Err() == nil {
				if err := source.Changed(ctx); err != nil {
					if ctx.Err() == nil {
						h.log.ErrorContext(ctx, "changes of definitions are not noticed any more", "place", source.Place(), "error", err)
					}
					return
				}
				h.reload(ctx)
			}
		})
	}
}

// reload works with the definitions of now. Passes and runs that are under way end
// with those that they began with.
func (h *Host) reload(ctx context.Context) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	h.catalog.reload(ctx)
	if h.counts != nil { // before something of them happens
		h.counts.SetDefinitions(h.catalog.definitions()...)
	}
	if err := h.manager.SetDefinitions(h.catalog.definitions()...); err != nil {
		h.log.ErrorContext(ctx, "the definitions are not used", "error", err)
		return
	}
	h.announce(ctx)
	// Runs that had to wait for another definition may go on.
	h.persist(ctx, "the runs that may go on", func() error { return h.store.ReconsiderRuns(ctx) })
	h.log.InfoContext(ctx, "definitions loaded", "controllers", h.catalog.Controllers.Names(), "workflows", h.catalog.WorkflowNames())
}

// announce records what the host works with, which wakes the resources of what has
// changed.
func (h *Host) announce(ctx context.Context) {
	for _, problem := range h.catalog.Problems() {
		h.log.WarnContext(ctx, "a definition is not used", "error", problem)
	}
	h.persist(ctx, "the definitions", func() error {
		woken, err := h.store.RecordDefinitions(ctx, h.catalog.now.Load().records())
		if err == nil && woken > 0 {
			h.log.InfoContext(ctx, "resources of controllers that changed get a pass", "resources", woken)
		}
		return err
	})
}

// persist tries until the store takes something or ctx ends.
func (h *Host) persist(ctx context.Context, what string, write func() error) {
	for ctx.Err() == nil {
		err := write()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			h.log.ErrorContext(ctx, "not recorded, trying again", "what", what, "error", err)
			_ = clock.Sleep(ctx, h.clock, storeRetry)
		}
	}
}
