package sqlite

import (
	"context"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/limit"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// Launch inserts a run that the caller runs itself; see runqueue.Store.
func (s *Store) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (*runqueue.Claim, error) {
	row := runqueue.Row{
		RunID: r.RunID, Workflow: r.Workflow, Source: r.Source, Digest: r.Digest, Input: r.Input,
		Status: runqueue.Running,
	}
	if err := checkRun(&row); err != nil {
		return nil, err
	}
	return write(ctx, s, "launch run", func(t *tx) (*runqueue.Claim, error) {
		if err := t.queueRun(row); err != nil {
			return nil, err
		}
		return t.takeRun(row.RunID, d)
	})
}

// takeRun claims a row under a new fence.
func (t *tx) takeRun(runID string, d time.Duration) (*runqueue.Claim, error) {
	c := &runqueue.Claim{Token: lease.NewToken()}
	if _, err := t.first(runQuery+" WHERE scope = ? AND run_id = ?", values(t.scope, runID), runColumns(&c.Row)...); err != nil {
		return nil, err
	}
	c.Row.Status, c.Row.UpdatedAt = runqueue.Running, t.now
	_, err := t.first(`UPDATE workflow_run_queue SET status = ?, fence = fence + 1, claim_token = ?, claim_owner = ?,
			claim_expires_at = ?, updated_at = ?
		WHERE scope = ? AND run_id = ? RETURNING fence`,
		values(string(c.Row.Status), string(c.Token), t.owner, t.now.Add(d), t.now, t.scope, runID), (*int64)(&c.Fence))
	return c, err
}

// nextRunQuery finds the oldest child run that nobody holds. It is one step
// into an index of the open runs, past those that run.
const nextRunQuery = `SELECT run_id, status FROM workflow_run_queue
	WHERE scope = ? AND child_request_id IS NOT NULL AND status IN ('queued', 'running') AND claim_token IS NULL
	ORDER BY seq LIMIT 1`

// ClaimRun takes the oldest child run; see runqueue.Store.
func (s *Store) ClaimRun(ctx context.Context, d time.Duration) (*runqueue.Claim, error) {
	at, err := read(ctx, s, "look for runs", (*tx).nextRun)
	if err != nil || !isDue(at, milliseconds(s.o.Clock)) {
		return nil, err
	}
	return write(ctx, s, "claim run", func(t *tx) (*runqueue.Claim, error) {
		if err := t.expireRuns(); err != nil {
			return nil, err
		}
		var runID, status string
		found, err := t.first(nextRunQuery, values(t.scope), &runID, &status)
		if err != nil || !found {
			return nil, err
		}
		c, err := t.takeRun(runID, d)
		if err != nil {
			return nil, err
		}
		c.Interrupted = status == string(runqueue.Running)
		return c, nil
	})
}

// expireRuns frees the claims that have run out.
func (t *tx) expireRuns() error {
	return t.exec(`UPDATE workflow_run_queue SET claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL
		WHERE scope = ? AND claim_token IS NOT NULL AND claim_expires_at <= ?`, t.scope, t.now)
}

// nextRun returns when a child run becomes claimable; nil is not without
// another one being queued.
func (t *tx) nextRun() (*time.Time, error) {
	var runID, status string
	found, err := t.first(nextRunQuery, values(t.scope), &runID, &status)
	if err != nil || found {
		return &t.now, err
	}
	var expiry *time.Time
	_, err = t.first(`SELECT claim_expires_at FROM workflow_run_queue
		WHERE scope = ? AND claim_token IS NOT NULL AND child_request_id IS NOT NULL ORDER BY claim_expires_at LIMIT 1`,
		values(t.scope), &expiry)
	return expiry, err
}

// WaitRuns waits for a child run; see runqueue.Store.
func (s *Store) WaitRuns(ctx context.Context) error { return s.wait(ctx, (*tx).nextRun) }

// liveRun finds the row that a claim holds, or a *lease.LostError.
func (t *tx) liveRun(c *runqueue.Claim) (row runqueue.Row, err error) {
	var token string
	var expires time.Time
	var fence int64
	found, err := t.first(`SELECT claim_token, claim_expires_at, fence FROM workflow_run_queue
		WHERE scope = ? AND run_id = ?`, values(t.scope, c.Row.RunID), &token, &expires, &fence)
	if err != nil {
		return row, err
	}
	if found && fence != int64(c.Fence) {
		return row, &lease.LostError{What: c.Row.RunID, Reason: lease.Taken}
	}
	if err := lost(c.Row.RunID, found, string(c.Token), token, expires, t.now); err != nil {
		return row, err
	}
	_, err = t.first(runQuery+" WHERE scope = ? AND run_id = ?", values(t.scope, c.Row.RunID), runColumns(&row)...)
	return row, err
}

// RenewRun extends a claim; see runqueue.Store.
func (s *Store) RenewRun(ctx context.Context, c *runqueue.Claim, d time.Duration) error {
	return s.do(ctx, "renew run", func(t *tx) error {
		if _, err := t.liveRun(c); err != nil {
			return err
		}
		return t.exec("UPDATE workflow_run_queue SET claim_expires_at = ? WHERE scope = ? AND run_id = ?",
			t.now.Add(d), t.scope, c.Row.RunID)
	})
}

// CheckRun looks whether a claim holds; see runqueue.Store.
func (s *Store) CheckRun(ctx context.Context, c *runqueue.Claim) error {
	_, err := read(ctx, s, "check run", func(t *tx) (runqueue.Row, error) { return t.liveRun(c) })
	return err
}

// FinishRun ends an interactive run, or parks it; see runqueue.Store.
func (s *Store) FinishRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	if !status.Final() && status != runqueue.Parked {
		return fmt.Errorf("a run cannot end as %.20q: use done, failed, cancelled or parked", string(status))
	}
	return s.do(ctx, "finish run", func(t *tx) error {
		row, err := t.liveRun(c)
		if err != nil {
			return err
		}
		if row.ChildOf != "" {
			return runqueue.ErrChildRun
		}
		return t.endRun(row.RunID, status, message)
	})
}

// endRun gives a row its status and ends its claim. A final row has no use for
// its input.
func (t *tx) endRun(runID string, status runqueue.Status, message string) error {
	return t.exec(`UPDATE workflow_run_queue SET status = ?, error = ?, input_json = CASE WHEN ? THEN NULL ELSE input_json END,
			claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ?`,
		string(status), orNull(limit.Text(message, controller.MaxError)), status.Final(), t.now, t.scope, runID)
}
