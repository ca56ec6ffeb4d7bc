package sqlite

import (
	"context"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runqueue"
)

// runQuery reads rows at a moment, its first parameter, of a project, its second
// one. The holder of a claim that has run out is nobody.
const runQuery = `SELECT r.run_id, r.workflow, r.source_json, r.digest, r.input_json, r.status, r.child_request_id,
		r.attempt, r.continuation_of, c.run_id, iif(r.claim_expires_at > ?1, coalesce(o.label, 'an unknown process'), NULL),
		r.cancel_reason, r.error, r.detached, r.paused, r.root_id, r.created_at, r.updated_at
	FROM workflow_run_queue r
	LEFT JOIN workflow_run_queue c ON c.scope = r.scope AND c.continuation_of = r.run_id
	LEFT JOIN owners o ON o.instance = r.claim_owner
	WHERE r.scope = ?2`

func runColumns(r *runqueue.Row) []any {
	return []any{
		&r.RunID, &r.Workflow, &r.Source, &r.Digest, &r.Input, (*string)(&r.Status), &r.ChildOf,
		&r.Attempt, &r.ContinuationOf, &r.ContinuedBy, &r.Holder,
		&r.CancelReason, &r.Error, &r.Detached, &r.Paused, &r.Root, &r.CreatedAt, &r.UpdatedAt,
	}
}

// run finds one row, or a *runqueue.NotFoundError.
func (t *tx) run(runID string) (row runqueue.Row, err error) {
	found, err := t.first(runQuery+" AND r.run_id = ?3", values(t.now, t.scope, runID), runColumns(&row)...)
	if err == nil && !found {
		err = &runqueue.NotFoundError{RunID: runID}
	}
	return row, err
}

// queueRun inserts a run, with no claim, that may be claimed from due on.
func (t *tx) queueRun(r runqueue.Row, due time.Time) error {
	taken, err := t.first("SELECT 1 FROM workflow_run_queue WHERE scope = ? AND run_id = ?", values(t.scope, r.RunID))
	if err != nil {
		return err
	}
	if taken {
		return fmt.Errorf("run ID %.200q is taken: choose a new one for every run", r.RunID)
	}
	return t.exec(`INSERT INTO workflow_run_queue (scope, run_id, workflow, source_json, digest, input_json, status,
			child_request_id, attempt, continuation_of, detached, paused, root_id, due_at, fence, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 0, ?, ?)`,
		t.scope, r.RunID, r.Workflow, r.Source, r.Digest, r.Input, string(r.Status), orNull(r.ChildOf), r.Attempt,
		orNull(r.ContinuationOf), r.Detached, orNull(r.Root), due, t.now, t.now)
}

// checkRun refuses a run that the queue cannot keep, and makes its input
// canonical.
func checkRun(r *runqueue.Row) error {
	if err := controller.ValidateKey("run ID", r.RunID); err != nil {
		return err
	}
	if err := controller.ValidateKey("workflow name", r.Workflow); err != nil {
		return err
	}
	if err := limit.Bytes("workflow source", r.Source, controller.MaxRequestBytes); err != nil {
		return err
	}
	input, err := canonical.Canonical(r.Input)
	if err != nil {
		return fmt.Errorf("input of run %s: %w", r.RunID, err)
	}
	r.Input = input
	return limit.Bytes("run input", input, controller.MaxRequestBytes)
}

const (
	maxRuns = 1000
)

// Run returns one row; see runqueue.Store.
func (s *Store) Run(ctx context.Context, runID string) (runqueue.Row, error) {
	return read(ctx, s, "read run", func(t *tx) (runqueue.Row, error) { return t.run(runID) })
}

// Runs lists rows, the newest first; see runqueue.Store.
func (s *Store) Runs(ctx context.Context, q runqueue.Query) ([]runqueue.Row, error) {
	count, err := pageSize("runs", q.Limit, maxRuns)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, "list runs", func(t *tx) ([]runqueue.Row, error) {
		var list []runqueue.Row
		var row runqueue.Row
		err := t.each(runQuery+` AND (?3 = '' OR r.status = ?3)
			AND (?5 = '' OR r.seq < (SELECT b.seq FROM workflow_run_queue b WHERE b.scope = ?2 AND b.run_id = ?5))
			ORDER BY r.seq DESC LIMIT ?4`,
			values(t.now, t.scope, string(q.Status), count, q.Before), func() error {
				list = append(list, row)
				return nil
			}, runColumns(&row)...)
		return list, err
	})
}
