package sqlite

import (
	"context"
	"fmt"
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

// takeRun claims a row that nobody holds, under a new fence.
func (t *tx) takeRun(runID string, d time.Duration) (*runqueue.Claim, error) {
	c := &runqueue.Claim{Token: lease.NewToken()}
	found, err := t.first(`UPDATE workflow_run_queue SET status = 'running', fence = fence + 1, claim_token = ?,
			claim_owner = ?, claim_expires_at = ?, error = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ? AND claim_token IS NULL AND status IN ('queued', 'running', 'parked')
		RETURNING fence`,
		values(string(c.Token), t.owner, t.now.Add(d), t.now, t.scope, runID), (*int64)(&c.Fence))
	if err == nil && !found {
		err = fmt.Errorf("run %.200q was not free to be claimed", runID)
	}
	if err != nil {
		return nil, err
	}
	c.Row, err = t.run(runID)
	return c, err
}

// nextRunQuery finds the child run that nobody holds and that is due first. It is
// one step into an index of the open runs, past those that run.
const nextRunQuery = `SELECT run_id, status, due_at FROM workflow_run_queue
	WHERE scope = ? AND child_request_id IS NOT NULL AND status IN ('queued', 'running') AND claim_token IS NULL
	ORDER BY due_at, seq LIMIT 1`

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
		var due time.Time
		found, err := t.first(nextRunQuery, values(t.scope), &runID, &status, &due)
		if err != nil || !found || due.After(t.now) {
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
	var due, expiry *time.Time
	_, err := t.first(nextRunQuery, values(t.scope), &runID, &status, &due)
	if err != nil || due != nil && !due.After(t.now) {
		return due, err
	}
	_, err = t.first(`SELECT claim_expires_at FROM workflow_run_queue
		WHERE scope = ? AND claim_token IS NOT NULL AND child_request_id IS NOT NULL ORDER BY claim_expires_at LIMIT 1`,
		values(t.scope), &expiry)
	return earlier(due, expiry), err
}

// WaitRuns waits for a child run; see runqueue.Store.
func (s *Store) WaitRuns(ctx context.Context) error { return s.wait(ctx, (*tx).nextRun) }

// WaitCancel waits until a run is to be cancelled; see runqueue.Store.
func (s *Store) WaitCancel(ctx context.Context, c *runqueue.Claim) (string, error) {
	defer s.watch.enter()()
	for {
		committed := s.commit.next()
		reason, err := read(ctx, s, "look whether to cancel", func(t *tx) (reason string, err error) {
			if err := t.holdsRun(c); err != nil {
				return "", err
			}
			_, err = t.first("SELECT cancel_reason FROM workflow_run_queue WHERE scope = ? AND run_id = ?",
				values(t.scope, c.Row.RunID), &reason)
			return reason, err
		})
		if err != nil || reason != "" {
			return reason, err
		}
		if err := s.sleep(ctx, committed, nil); err != nil {
			return "", err
		}
	}
}

// holdsRun returns a *lease.LostError unless a claim holds.
func (t *tx) holdsRun(c *runqueue.Claim) error {
	var token string
	var expires time.Time
	var fence int64
	found, err := t.first(`SELECT claim_token, claim_expires_at, fence FROM workflow_run_queue
		WHERE scope = ? AND run_id = ?`, values(t.scope, c.Row.RunID), &token, &expires, &fence)
	if err != nil {
		return err
	}
	if found && fence != int64(c.Fence) {
		return &lease.LostError{What: c.Row.RunID, Reason: lease.Taken}
	}
	return lost(c.Row.RunID, found, string(c.Token), token, expires, t.now)
}

// liveRun finds the row that a claim holds, or a *lease.LostError.
func (t *tx) liveRun(c *runqueue.Claim) (runqueue.Row, error) {
	if err := t.holdsRun(c); err != nil {
		return runqueue.Row{}, err
	}
	return t.run(c.Row.RunID)
}

// RenewRun extends a claim; see runqueue.Store.
func (s *Store) RenewRun(ctx context.Context, c *runqueue.Claim, d time.Duration) error {
	return s.do(ctx, "renew run", func(t *tx) error {
		if err := t.holdsRun(c); err != nil {
			return err
		}
		return t.exec("UPDATE workflow_run_queue SET claim_expires_at = ? WHERE scope = ? AND run_id = ?",
			t.now.Add(d), t.scope, c.Row.RunID)
	})
}

// CheckRun looks whether a claim holds; see runqueue.Store.
func (s *Store) CheckRun(ctx context.Context, c *runqueue.Claim) error {
	_, err := read(ctx, s, "check run", func(t *tx) (struct{}, error) { return struct{}{}, t.holdsRun(c) })
	return err
}
