package sqlite

import (
	"context"
	"fmt"
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

// takeRun claims a row that nobody holds, under a new fence. A root is that of the
// bundle if there is none yet.
func (t *tx) takeRun(runID, root string, d time.Duration) (*runqueue.Claim, error) {
	c := &runqueue.Claim{Token: lease.NewToken()}
	found, err := t.first(`UPDATE workflow_run_queue SET status = 'running', fence = fence + 1, claim_token = ?,
			claim_owner = ?, claim_expires_at = ?, root_id = coalesce(root_id, ?), error = NULL, refused_by = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ? AND claim_token IS NULL AND status IN ('queued', 'running', 'parked')
		RETURNING fence`,
		values(string(c.Token), t.owner, t.now.Add(d), orNull(root), t.now, t.scope, runID), (*int64)(&c.Fence))
	if err == nil && !found {
		err = fmt.Errorf("run %.200q was not free to be claimed", runID)
	}
	if err != nil {
		return nil, err
	}
	c.Row, err = t.run(runID)
	return c, err
}

// The queries find the run that nobody holds and that is due first. Each is one
// step into an index of the open runs, past those that run. Whether the bundle is
// at hand does not matter for a run whose owner is gone.
const (
	nextRunQuery = `SELECT run_id, status, due_at FROM workflow_run_queue
	WHERE scope = ?1 AND child_request_id IS NOT NULL AND status IN ('queued', 'running') AND claim_token IS NULL
		AND (status = 'running' OR root_id IS NULL OR ?2 = '' OR root_id = ?2)
	ORDER BY due_at, seq LIMIT 1`
	nextDetachedQuery = `SELECT run_id, status, due_at FROM workflow_run_queue
	WHERE scope = ?1 AND detached = 1 AND paused = 0 AND status IN ('queued', 'running', 'parked') AND claim_token IS NULL
		AND (status = 'running' OR root_id IS NULL OR ?2 = '' OR root_id = ?2)
		AND refused_by IS NOT ?3
	ORDER BY due_at, seq LIMIT 1`
)

// nextRun is the run that may be claimed first.
type nextRun struct {
	id, status string
	due        time.Time
}

func (t *tx) firstRun(q runqueue.ClaimQuery) (n nextRun, found bool, err error) {
	if !q.Detached {
		found, err = t.first(nextRunQuery, values(t.scope, q.Root), &n.id, &n.status, &n.due)
		return n, found, err
	}
	found, err = t.first(nextDetachedQuery, values(t.scope, q.Root, t.owner), &n.id, &n.status, &n.due)
	return n, found, err
}

// ClaimRun takes the oldest run of a query; see runqueue.Store.
func (s *Store) ClaimRun(ctx context.Context, q runqueue.ClaimQuery, d time.Duration) (*runqueue.Claim, error) {
	at, err := read(ctx, s, "look for runs", func(t *tx) (*time.Time, error) { return t.nextRun(q) })
	if err != nil || !isDue(at, milliseconds(s.o.Clock)) {
		return nil, err
	}
	return write(ctx, s, "claim run", func(t *tx) (*runqueue.Claim, error) {
		if err := t.expireRuns(); err != nil {
			return nil, err
		}
		next, found, err := t.firstRun(q)
		if err != nil || !found || next.due.After(t.now) {
			return nil, err
		}
		c, err := t.takeRun(next.id, q.Root, d)
		if err != nil {
			return nil, err
		}
		c.Interrupted = next.status == string(runqueue.Running)
		return c, nil
	})
}

// expireRuns frees the claims that have run out.
func (t *tx) expireRuns() error {
	return t.exec(`UPDATE workflow_run_queue SET claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL
		WHERE scope = ? AND claim_token IS NOT NULL AND claim_expires_at <= ?`, t.scope, t.now)
}

// nextRun returns when a run of a query becomes claimable; nil is not without
// another one being queued.
func (t *tx) nextRun(q runqueue.ClaimQuery) (*time.Time, error) {
	next, found, err := t.firstRun(q)
	if err != nil {
		return nil, err
	}
	var due, expiry *time.Time
	if found {
		if due = &next.due; !due.After(t.now) {
			return due, nil
		}
	}
	_, err = t.first(`SELECT claim_expires_at FROM workflow_run_queue
		WHERE scope = ? AND claim_token IS NOT NULL AND iif(?, detached = 1, child_request_id IS NOT NULL)
		ORDER BY claim_expires_at LIMIT 1`, values(t.scope, q.Detached), &expiry)
	return earlier(due, expiry), err
}

// WaitRuns waits for a run of a query; see runqueue.Store.
func (s *Store) WaitRuns(ctx context.Context, q runqueue.ClaimQuery) error {
	return s.wait(ctx, func(t *tx) (*time.Time, error) { return t.nextRun(q) })
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
