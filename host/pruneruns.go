package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// PrunedRun is a run that retention removed.
type PrunedRun struct {
	RunID, Workflow string
	Status          runqueue.Status
	EndedAt         time.Time
	// Bytes is the size of its bundle; zero if there was none.
	Bytes int64
	// Reason says which bound it broke.
	Reason PruneReason
}

// PruneReason says why a run goes.
type PruneReason string

// The reasons to remove a run.
const (
	TooOld PruneReason = "age"
	TooBig PruneReason = "size"
)

// runs removes runs that are over, the bundle before the row: a row without a
// bundle is found again, a bundle without a row would never be. The oldest go first,
// which is before their continuations.
func (s *sweeper) runs(ctx context.Context, now time.Time, dryRun bool) (removed []PrunedRun, err error) {
	found, err := s.removableRuns(ctx, now)
	if err != nil || dryRun {
		return found, err
	}
	var failures []error
	for _, run := range slices.Backward(found) {
		gone, err := s.removeRun(ctx, run)
		switch {
		case err != nil:
			failures = append(failures, err)
		case gone:
			removed = append(removed, run)
		}
	}
	slices.Reverse(removed)
	return removed, errors.Join(failures...)
}

func (s *sweeper) removeRun(ctx context.Context, run PrunedRun) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	err := runbundle.Remove(runbundle.Options{Clock: s.o.Clock, FS: s.o.FS, Logger: s.o.Logger}, s.o.Runs, run.RunID)
	if errors.Is(err, oslock.ErrHeld) {
		return false, nil // somebody looks after it
	}
	if err != nil {
		return false, err
	}
	delete(s.sizes, run.RunID)
	return s.store.ForgetRun(ctx, run.RunID)
}

// removableRuns goes from the newest run to the oldest.
func (s *sweeper) removableRuns(ctx context.Context, now time.Time) ([]PrunedRun, error) {
	l := runLedger{keep: s.o.Retention, now: now, kept: map[string]bool{}}
	for q := (runqueue.EndedQuery{Limit: 1000}); ; {
		page, err := s.store.EndedRuns(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Runs {
			size, over := s.over(r)
			l.add(r, size, over)
		}
		if q.Continue = page.Continue; q.Continue == "" || ctx.Err() != nil {
			return l.found, context.Cause(ctx)
		}
	}
}

// runLedger adds up the bundles of runs and finds those that are to go.
type runLedger struct {
	keep  Retention
	now   time.Time
	bytes int64
	// kept are runs whose continuations stay, so that they stay too.
	kept  map[string]bool
	found []PrunedRun
}

// add takes a run that is older than those before it.
func (l *runLedger) add(r runqueue.EndedRun, size int64, over bool) {
	l.bytes += size
	reason := l.reason(r, size)
	if !over || r.Needed || reason == "" || l.kept[r.RunID] {
		if r.ContinuationOf != "" {
			l.kept[r.ContinuationOf] = true
		}
		return
	}
	l.found = append(l.found, PrunedRun{
		RunID: r.RunID, Workflow: r.Workflow, Status: r.Status, EndedAt: r.EndedAt, Bytes: size, Reason: reason,
	})
}

// reason says which bound a run breaks; empty if none.
func (l *runLedger) reason(r runqueue.EndedRun, size int64) PruneReason {
	switch {
	case l.keep.Runs > 0 && l.now.Sub(r.EndedAt) > l.keep.Runs:
		return TooOld
	case l.keep.RunBytes > 0 && l.bytes > l.keep.RunBytes && size > 0:
		return TooBig
	default:
		return ""
	}
}

// over tells how large the bundle of a run is whose row has ended, and whether the
// run is over: one that waits for an answer is not, and of one that cannot be read
// nobody knows.
func (s *sweeper) over(r runqueue.EndedRun) (size int64, over bool) {
	if size, ok := s.sizes[r.RunID]; ok {
		return size, true
	}
	if runbundle.CheckRunID(r.RunID) != nil {
		return 0, false // no bundle of ours has such a name
	}
	m, err := runbundle.ReadManifest(s.o.bundle(r.RunID))
	switch {
	case unrecorded(err):
		return 0, true
	case err == nil && m.Status == runbundle.Waiting && r.Status == runqueue.Done && !r.Continued:
		return 0, false
	case err == nil:
		size, err = runbundle.Size(s.o.bundle(r.RunID))
	}
	if err != nil {
		s.o.Logger.Warn("a run is kept, because its bundle cannot be read", "runId", r.RunID, "error", err)
		return 0, false
	}
	if m.Status.Terminal() && m.Status != runbundle.Waiting {
		s.sizes[r.RunID] = size
	}
	return size, true
}
