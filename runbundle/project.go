package runbundle

import (
	"context"
	"time"

	"piworkflows/clock"
)

// When the projections of a running run are rewritten. Together the rules bound
// what is written to a few times what is kept, and what a viewer misses to
// seconds.
const (
	// growthShare is the part of state.json by which the trace may grow.
	growthShare = 4
	// minGrowth keeps a young run, whose state is small, from being projected
	// every few events: a projection costs two syncs, as much as a hundred quick
	// steps, and this much of a trace is folded in a moment.
	minGrowth = 64 << 10
	// writtenShare bounds what growth makes a run write, as a multiple of the
	// trace and the state.
	writtenShare = 4
	// maxAge is how old a projection may become while events arrive.
	maxAge = 5 * time.Second
	// quietTime is how long no event arrives until the run counts as quiet.
	quietTime = 250 * time.Millisecond
)

// follow rewrites the projections if it is time. A failure is told and tried
// again: the trace has everything.
func (w *Writer) follow(ctx context.Context, kind EventType) {
	if kind.shown() || w.due() {
		w.tryProject(ctx)
	}
	select {
	case w.grown <- struct{}{}:
	default:
	}
}

func (w *Writer) due() bool {
	growth := w.trace.Size() - w.shown.traceSize
	grown := growth >= max(w.shown.stateSize/growthShare, minGrowth) && w.affordable()
	return grown || w.grewAt.Sub(w.shown.at) >= maxAge
}

// affordable reports whether one more projection now, and the last one at the
// end, leave what is written at four times the trace and the state at most. Long
// runs with short outputs come near it.
func (w *Writer) affordable() bool {
	state := w.shown.stateSize - w.shown.stepsSize + w.doc.steps.size // but for what changed beside the steps
	kept := w.trace.Size() + state
	written := w.trace.Size() + w.doc.steps.spilled() + w.shown.written
	return written+2*state <= writtenShare*kept
}

func (w *Writer) tryProject(ctx context.Context) {
	if err := w.project(ctx); err != nil {
		w.o.Logger.WarnContext(ctx, "run projection not written, it will be tried again", "runId", w.state.RunID, "error", err)
	}
}

// keepFresh projects when the run has been quiet for a while.
func (w *Writer) keepFresh(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-w.grown:
		case <-ctx.Done():
			return
		}
		for wait := quietTime; wait > 0; wait = w.refresh(ctx) {
			if clock.Sleep(ctx, w.o.Clock, wait) != nil {
				return
			}
		}
	}
}

// refresh projects if the run is quiet, and returns how long to wait otherwise.
func (w *Writer) refresh(ctx context.Context) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stale || w.usable() != nil {
		return 0
	}
	if rest := quietTime - w.o.Clock.Now().Sub(w.grewAt); rest > 0 {
		return rest
	}
	w.tryProject(ctx)
	if w.stale {
		return maxAge
	}
	return 0
}
