package sqlite

import (
	"context"
	"time"

	"piworkflows/controller"
)

// A wake-up counts, and makes the key due now unless it is due already. It
// leaves a claim alone: the pass finds at its end that the count has moved.
const wakeQuery = `INSERT INTO queue (scope, controller, resource_key, available_at, wake, consecutive_errors)
	VALUES (?, ?, ?, ?, 1, 0)
	ON CONFLICT (scope, controller, resource_key) DO UPDATE
	SET available_at = min(available_at, excluded.available_at), wake = wake + 1`

func (t *tx) wake(ref controller.Ref) error {
	return t.exec(wakeQuery, t.scope, ref.Controller, ref.Key, t.now)
}

// wakeForSpec is wake with a clean slate: errors with the old spec say nothing
// about the new one.
func (t *tx) wakeForSpec(ref controller.Ref) error {
	return t.exec(wakeQuery+", consecutive_errors = 0, last_error = NULL", t.scope, ref.Controller, ref.Key, t.now)
}

// Enqueue wakes a key; see controller.Store.
func (s *Store) Enqueue(ctx context.Context, ref controller.Ref, actor string) error {
	if err := controller.ValidateRef(ref); err != nil {
		return err
	}
	return s.do(ctx, "enqueue", func(t *tx) error {
		if _, err := t.uid(ref); err != nil {
			return err
		}
		if err := t.wake(ref); err != nil {
			return err
		}
		return t.tell(ref, controller.EventRequested, actorPayload{actor})
	})
}

type actorPayload struct {
	Actor string `json:"actor,omitempty"`
}

// queueRow is a row of the queue as far as others may know of it.
type queueRow struct {
	available, expires *time.Time
	errors             int
	lastError          string
}

const queueColumns = "q.available_at, q.claim_expires_at, q.consecutive_errors, q.last_error"

func (q *queueRow) columns() []any {
	return []any{&q.available, &q.expires, &q.errors, &q.lastError}
}

// state tells where the key stands. A claim that has expired is none.
func (q *queueRow) state(now time.Time) controller.QueueRow {
	row := controller.QueueRow{
		State: controller.QueueReady, AvailableAt: q.available,
		ConsecutiveErrors: q.errors, LastError: q.lastError,
	}
	switch {
	case q.available == nil:
		row.State = controller.QueueNone
	case q.expires != nil && q.expires.After(now):
		row.State, row.AvailableAt = controller.QueueClaimed, nil
	case q.expires == nil && q.available.After(now):
		row.State = controller.QueueDelayed
	}
	return row
}

// Queue returns the queue row of a resource; see controller.Store.
func (s *Store) Queue(ctx context.Context, ref controller.Ref) (controller.QueueRow, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return controller.QueueRow{}, err
	}
	return read(ctx, s, "read queue", func(t *tx) (controller.QueueRow, error) {
		if _, err := t.uid(ref); err != nil {
			return controller.QueueRow{}, err
		}
		var q queueRow
		_, err := t.first("SELECT "+queueColumns+` FROM queue q
			WHERE q.scope = ? AND q.controller = ? AND q.resource_key = ?`,
			values(t.scope, ref.Controller, ref.Key), q.columns()...)
		return q.state(t.now), err
	})
}

// Backlog counts what is left to do; see controller.Store.
func (s *Store) Backlog(ctx context.Context, controllers []string) (controller.Backlog, error) {
	return read(ctx, s, "count backlog", func(t *tx) (controller.Backlog, error) {
		var b controller.Backlog
		for _, name := range controllers {
			if err := t.count(&b, name); err != nil {
				return b, err
			}
		}
		_, err := t.first(`SELECT count(*) FROM workflow_run_queue
			WHERE scope = ? AND child_request_id IS NOT NULL AND status IN ('queued', 'running')`,
			values(t.scope), &b.Runs)
		return b, err
	})
}

// count adds the rows of one controller to a backlog.
func (t *tx) count(b *controller.Backlog, name string) error {
	var claimed, ready, delayed int
	var next *time.Time
	_, err := t.first(`SELECT
			count(*) FILTER (WHERE claim_expires_at > ?3),
			count(*) FILTER (WHERE claim_expires_at <= ?3 OR claim_token IS NULL AND available_at <= ?3),
			count(*) FILTER (WHERE claim_token IS NULL AND available_at > ?3),
			min(available_at) FILTER (WHERE claim_token IS NULL AND available_at > ?3)
		FROM queue WHERE scope = ?1 AND controller = ?2`,
		values(t.scope, name, t.now), &claimed, &ready, &delayed, &next)
	b.Claimed += claimed
	b.Ready += ready
	b.Delayed += delayed
	b.NextDue = earlier(b.NextDue, next)
	return err
}

// earlier returns the earlier of two moments; nil is never.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
