package engine

import (
	"bytes"
	"context"
	"errors"

	"piworkflows/clock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// cleanup lets the author remove what the run leaves behind. It comes after the
// record of the end, so that a crash in it cannot bring a cancelled run back.
func (r *Run) cleanup(end *ending) {
	callback := r.graph.Definition().Cleanup
	if callback == nil || !r.over(end) {
		return
	}
	err := r.fence(r.base)
	if err == nil {
		err = r.clean(callback)
	}
	if err != nil {
		r.e.o.Logger.WarnContext(r.base, "the cleanup of a run failed", "runId", r.o.RunID, "error", err)
	}
}

// over reports whether nothing of the run works or will work again.
func (r *Run) over(end *ending) bool {
	var unsettled *UnsettledError
	return r.w.Ended() && end.status != runbundle.Waiting && !end.interrupted && !errors.As(end.err, &unsettled)
}

func (r *Run) clean(callback func(context.Context, *workflow.Context) error) error {
	what := "the cleanup of workflow " + r.graph.Name()
	ctx, cancel := clock.WithTimeoutCause(r.base, r.e.o.Clock, CleanupTimeout, &TimeoutError{What: what, After: CleanupTimeout})
	defer cancel()
	c := &workflow.Context{RunID: r.o.RunID, Input: bytes.Clone(r.input), View: r.view()}
	_, err := call(ctx, r.e, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, callback(ctx, c) })
	return err
}
