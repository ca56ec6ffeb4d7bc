package sqlite

import (
	"context"
	"math"
	"strconv"

	"piworkflows/runqueue"
)

// continued tells of a run r whether a row c of its continuation is there.
const continued = "EXISTS (SELECT 1 FROM workflow_run_queue c WHERE c.scope = r.scope AND c.continuation_of = r.run_id"

// needed tells of a run r that something needs its record: a continuation that
// has not ended, or a child request that has not come to its end.
const needed = "(" + continued + ` AND c.status NOT IN ('done', 'failed', 'cancelled'))
	OR EXISTS (SELECT 1 FROM workflow_requests q WHERE q.run_id = r.run_id AND q.state NOT IN ('succeeded', 'failed')))`

// EndedRuns lists runs that have ended; see runqueue.Store.
func (s *Store) EndedRuns(ctx context.Context, q runqueue.EndedQuery) (runqueue.EndedPage, error) {
	count, err := pageSize("runs", q.Limit, maxRuns)
	if err != nil {
		return runqueue.EndedPage{}, err
	}
	before := int64(math.MaxInt64)
	if q.Continue != "" {
		if before, err = strconv.ParseInt(q.Continue, 36, 64); err != nil {
			return runqueue.EndedPage{}, &CursorError{Cursor: q.Continue}
		}
	}
	return read(ctx, s, "list ended runs", func(t *tx) (runqueue.EndedPage, error) { return t.endedRuns(before, count) })
}

func (t *tx) endedRuns(before int64, count int) (page runqueue.EndedPage, err error) {
	var r runqueue.EndedRun
	var seq int64
	err = t.each(`SELECT r.seq, r.run_id, r.workflow, r.status, r.updated_at, coalesce(r.continuation_of, ''),
			`+needed+", "+continued+`)
		FROM workflow_run_queue r WHERE r.scope = ? AND r.seq < ? AND r.status IN ('done', 'failed', 'cancelled')
		ORDER BY r.seq DESC LIMIT ?`, values(t.scope, before, count), func() error {
		page.Runs = append(page.Runs, r)
		return nil
	}, &seq, &r.RunID, &r.Workflow, (*string)(&r.Status), &r.EndedAt, &r.ContinuationOf, &r.Needed, &r.Continued)
	if len(page.Runs) == count {
		page.Continue = strconv.FormatInt(seq, 36)
	}
	return page, err
}

// ForgetRun removes the row of a run; see runqueue.Store.
func (s *Store) ForgetRun(ctx context.Context, runID string) (bool, error) {
	return write(ctx, s, "forget run", func(t *tx) (bool, error) {
		err := t.exec(`DELETE FROM workflow_run_queue AS r WHERE r.scope = ? AND r.run_id = ?
			AND r.status IN ('done', 'failed', 'cancelled') AND NOT `+needed+`
			AND NOT EXISTS (SELECT 1 FROM workflow_run_queue p WHERE p.scope = r.scope AND p.run_id = r.continuation_of)`,
			t.scope, runID)
		return t.changed() > 0, err
	})
}
