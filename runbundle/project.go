package runbundle

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"piworkflows/clock"
)

// When the projections of a running run are rewritten. Together the rules bound
// what is written to a few times the trace, and what a viewer misses to seconds.
const (
	// growthShare is the part of state.json by which the trace may grow.
	growthShare = 4
	// minGrowth keeps a young run, whose state is small, from being projected at
	// each event.
	minGrowth = 4096
	// maxAge is how old a projection may become while events arrive.
	maxAge = 5 * time.Second
	// quietTime is how long no event arrives until the run counts as quiet.
	quietTime = 250 * time.Millisecond
)

// shown is what the projections on disk show.
type shown struct {
	at        time.Time
	traceSize int64
	stateSize int64
	manifest  []byte
}

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
	return growth >= max(w.shown.stateSize/growthShare, minGrowth) || w.grewAt.Sub(w.shown.at) >= maxAge
}

func (w *Writer) tryProject(ctx context.Context) {
	if err := w.project(ctx); err != nil {
		w.o.Logger.WarnContext(ctx, "run projection not written, it will be tried again", "runId", w.state.RunID, "error", err)
	}
}

// end makes the last event of the run durable and shows it.
func (w *Writer) end() error {
	if err := w.trace.Sync(); err != nil {
		return fmt.Errorf("sync the end of run %s: %w", w.state.RunID, err)
	}
	w.ended = true
	return w.replace()
}

// project writes the projections of a state that is durable in the trace, so
// that no power loss leaves a state that is ahead of it.
func (w *Writer) project(ctx context.Context) error {
	if err := w.sync(ctx); err != nil {
		return err
	}
	return w.replace()
}

// replace writes state.json, then manifest.json if it changed: readers take a
// run for settled once both are final.
func (w *Writer) replace() error {
	text, err := w.doc.text()
	if err != nil {
		return err
	}
	if err := w.o.FS.Replace(w.path(stateFile), text, true); err != nil {
		return fmt.Errorf("write %s of run %s: %w", stateFile, w.state.RunID, err)
	}
	w.manifest.Status, w.manifest.FinishedAt = w.state.Status, w.state.FinishedAt
	manifest, err := documentText(&w.manifest)
	if err != nil {
		return err
	}
	if !bytes.Equal(manifest, w.shown.manifest) {
		if err := w.o.FS.Replace(w.path(manifestFile), manifest, true); err != nil {
			return fmt.Errorf("write %s of run %s: %w", manifestFile, w.state.RunID, err)
		}
	}
	w.shown = shown{at: w.o.Clock.Now(), traceSize: w.trace.Size(), stateSize: int64(len(text)), manifest: manifest}
	w.stale = false
	return nil
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
