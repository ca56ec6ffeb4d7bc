package host

import (
	"context"

	"piworkflows/clock"
)

// run sweeps at once and then every hour, until ctx ends. What a sweep could not
// do the next one does.
func (s *sweeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.once(ctx)
		_ = clock.Sleep(ctx, s.o.Clock, sweepEvery)
	}
}

// once sweeps and tells what came of it.
func (s *sweeper) once(ctx context.Context) {
	p, err := s.sweep(ctx, false)
	if !p.Nothing() {
		s.o.Logger.InfoContext(ctx, "pruned what is old", "events", p.Events, "effects", p.Effects, "deliveries", p.Deliveries,
			"runs", len(p.Runs), "resources", len(p.Resources))
	}
	if err != nil && ctx.Err() == nil {
		s.o.Logger.ErrorContext(ctx, "what is old was not pruned, it is tried again", "afterMs", sweepEvery.Milliseconds(), "error", err)
	}
}
