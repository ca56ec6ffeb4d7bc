package engine

import (
	"bytes"
	"context"
	"errors"

	"piworkflows/clock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// cleanup lets the authors remove what the run leaves behind. It comes after the
// record of the end, so that a crash in it cannot bring a cancelled run back.
func (r *Run) cleanup(end *ending) {
	if !r.over(end) {
		return
	}
	left := r.scopes.Cleanups(&workflow.Context{RunID: r.o.RunID, Input: bytes.Clone(r.input), View: r.view()})
	for _, c := range left {
		err := r.fence(r.base)
		if err == nil {
			err = r.clean(c)
		}
		if err != nil {
			r.e.o.Logger.WarnContext(r.base, "the cleanup of a run failed", "runId", r.o.RunID, "workflow", c.Workflow, "error", err)
		}
	}
}

// over reports whether nothing of the run works or will work again.
func (r *Run) over(end *ending) bool {
	var unsettled *UnsettledError
	return r.w.Ended() && end.status != runbundle.Waiting && !end.interrupted && !errors.As(end.err, &unsettled)
}

func (r *Run) clean(c workflow.Cleanup) error {
	what := "the cleanup of workflow " + c.Workflow
	ctx, cancel := clock.WithTimeoutCause(r.base, r.e.o.Clock, CleanupTimeout, &TimeoutError{What: what, After: CleanupTimeout})
	defer cancel()
	_, err := call(ctx, r.e, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.Run(ctx) })
	return err
}
