package sqlite

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/limit"
	"piworkflows/runqueue"
)

// ParkRun gives an interactive run back; see runqueue.Store.
func (s *Store) ParkRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return s.endInteractive(ctx, "park run", c, runqueue.Parked, reason)
}

// RefuseRun parks a run that this store does not claim again; see runqueue.Store.
func (s *Store) RefuseRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return s.do(ctx, "refuse run", func(t *tx) error {
		row, err := t.liveRun(c)
		if err != nil {
			return err
		}
		if row.ChildOf != "" {
			return &runqueue.ChildRunError{RunID: row.RunID, ChildOf: row.ChildOf}
		}
		if err := t.exec("UPDATE workflow_run_queue SET refused_by = ? WHERE scope = ? AND run_id = ?",
			t.owner, t.scope, row.RunID); err != nil {
			return err
		}
		return t.endRun(c, runqueue.Parked, reason)
	})
}

// ReconsiderRuns forgets what this store refused; see runqueue.Store.
func (s *Store) ReconsiderRuns(ctx context.Context) error {
	return s.do(ctx, "reconsider runs", func(t *tx) error {
		return t.exec(`UPDATE workflow_run_queue INDEXED BY runs_detached SET refused_by = NULL
			WHERE scope = ? AND detached = 1 AND paused = 0 AND status IN ('queued', 'running', 'parked') AND refused_by = ?`,
			t.scope, t.owner)
	})
}

// FinishRun ends an interactive run; see runqueue.Store.
func (s *Store) FinishRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	if err := checkFinal(status); err != nil {
		return err
	}
	return s.endInteractive(ctx, "finish run", c, status, message)
}

// AwaitAnswer ends a run that waits for an answer; see runqueue.Store.
func (s *Store) AwaitAnswer(ctx context.Context, c *runqueue.Claim) error {
	return s.do(ctx, "await answer", func(t *tx) error {
		row, err := t.finishInteractive(c, runqueue.Done, "")
		if err != nil || !row.Detached {
			return err
		}
		return t.tell(controller.Ref{}, controller.EventRunWaiting, runWaitingPayload{row.RunID, row.Workflow})
	})
}

type runWaitingPayload struct {
	RunID    string `json:"runId"`
	Workflow string `json:"workflow"`
}

// AbandonRun ends a run that never began; see runqueue.Store.
func (s *Store) AbandonRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	if err := checkFinal(status); err != nil {
		return err
	}
	return s.do(ctx, "abandon run", func(t *tx) error {
		row, err := t.liveRun(c)
		if err != nil {
			return err
		}
		if row.ChildOf != "" && row.ContinuationOf == "" {
			return &runqueue.ChildRunError{RunID: row.RunID, ChildOf: row.ChildOf}
		}
		if err := t.giveBackChild(row); err != nil {
			return err
		}
		return t.abandonRun(c, status, message)
	})
}

func checkFinal(status runqueue.Status) error {
	if !status.Final() {
		return fmt.Errorf("a run cannot end as %.20q: use done, failed or cancelled", string(status))
	}
	return nil
}

// endInteractive ends the claim on a row that is no child run.
func (s *Store) endInteractive(
	ctx context.Context, op string, c *runqueue.Claim, status runqueue.Status, message string,
) error {
	return s.do(ctx, op, func(t *tx) error {
		_, err := t.finishInteractive(c, status, message)
		return err
	})
}

func (t *tx) finishInteractive(c *runqueue.Claim, status runqueue.Status, message string) (runqueue.Row, error) {
	row, err := t.liveRun(c)
	if err != nil {
		return row, err
	}
	if row.ChildOf != "" {
		return row, &runqueue.ChildRunError{RunID: row.RunID, ChildOf: row.ChildOf}
	}
	return row, t.endRun(c, status, message)
}

// endRun gives a row its status and ends its claim, which was found to be live.
// A final row has no use for its input.
func (t *tx) endRun(c *runqueue.Claim, status runqueue.Status, message string) error {
	return t.exec(`UPDATE workflow_run_queue SET status = ?, error = ?, input_json = CASE WHEN ? THEN NULL ELSE input_json END,
			claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ? AND status = 'running' AND claim_token = ? AND fence = ?`,
		string(status), shortError(message), status.Final(), t.now, t.scope, c.Row.RunID, string(c.Token), int64(c.Fence))
}

// abandonRun is endRun for a run without a bundle: its parent is free again.
func (t *tx) abandonRun(c *runqueue.Claim, status runqueue.Status, message string) error {
	err := t.exec(`UPDATE workflow_run_queue SET continuation_of = NULL
		WHERE scope = ? AND run_id = ? AND status = 'running' AND claim_token = ?`, t.scope, c.Row.RunID, string(c.Token))
	if err != nil {
		return err
	}
	return t.endRun(c, status, message)
}

func shortError(message string) any { return orNull(limit.Text(message, controller.MaxError)) }

// WithdrawRun cancels a run that waits for its continuation; see runqueue.Store.
func (s *Store) WithdrawRun(ctx context.Context, runID, message string) error {
	return s.do(ctx, "withdraw run", func(t *tx) error {
		row, err := t.continuable(runID)
		if err == nil && row.ChildOf != "" {
			err = &runqueue.ChildRunError{RunID: runID, ChildOf: row.ChildOf}
		}
		if err != nil {
			return err
		}
		return t.exec(`UPDATE workflow_run_queue SET status = 'cancelled', error = ?, updated_at = ?
			WHERE scope = ? AND run_id = ? AND status = 'done'`, shortError(message), t.now, t.scope, runID)
	})
}
