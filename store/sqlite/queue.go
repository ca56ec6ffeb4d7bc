package sqlite

import (
	"context"
	"time"

	"piworkflows/controller"
)

// What a wake-up looks at, and what it does to a key without a row.
const (
	wakeQuery = `SELECT r.id, r.controller_id, r.wake, r.suspension_json IS NOT NULL,
			q.resource_id IS NOT NULL, q.lane, q.available_at
		FROM resources r LEFT JOIN queue q ON q.resource_id = r.id
		WHERE r.scope = ? AND r.controller = ? AND r.resource_key = ?`
	dueQuery = `INSERT INTO queue (resource_id, controller_id, lane, available_at, held, consecutive_errors, retries)
		VALUES (?, ?, ?, ?, ?, 0, 0)`
)

// sleeper is a key as a wake-up finds it.
type sleeper struct {
	id, line, wake int64
	held, queued   bool
	lane           int
	available      time.Time
}

// wake counts a wake-up, makes the key due now unless it is due already, and
// returns the count or a *NotFoundError. It leaves a claim alone: the pass finds
// at its end that the count has moved.
func (t *tx) wake(ref controller.Ref, lane controller.Lane) (count int64, err error) {
	k, err := t.sleeper(ref)
	if err != nil {
		return 0, err
	}
	if err := t.exec("UPDATE resources SET wake = ? WHERE id = ?", k.wake+1, k.id); err != nil {
		return 0, err
	}
	return k.wake + 1, t.due(k, lane)
}

func (t *tx) sleeper(ref controller.Ref) (k sleeper, err error) {
	found, err := t.first(wakeQuery, values(t.scope, ref.Controller, ref.Key),
		&k.id, &k.line, &k.wake, &k.held, &k.queued, &k.lane, &k.available)
	if err == nil && !found {
		err = &controller.NotFoundError{Ref: ref}
	}
	return k, err
}

// due makes a row, or moves the one there is to a lane that is more urgent and
// to an earlier time.
func (t *tx) due(k sleeper, lane controller.Lane) error {
	if !k.queued {
		return t.exec(dueQuery, k.id, k.line, int(lane), t.now, k.held)
	}
	if k.lane <= int(lane) && !k.available.After(t.now) {
		return nil
	}
	if k.available.After(t.now) {
		k.available = t.now
	}
	return t.exec("UPDATE queue SET lane = ?, available_at = ? WHERE resource_id = ?",
		min(k.lane, int(lane)), k.available, k.id)
}

// Enqueue wakes a key; see controller.Store.
func (s *Store) Enqueue(ctx context.Context, ref controller.Ref, actor string) (int64, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return 0, err
	}
	return write(ctx, s, "enqueue", func(t *tx) (int64, error) {
		count, err := t.wake(ref, controller.LaneRequest)
		if err != nil {
			return 0, err
		}
		return count, t.tell(ref, controller.EventRequested, actorPayload{Actor: actor})
	})
}

type actorPayload struct {
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// queueRow is a row of the queue as far as others may know of it.
type queueRow struct {
	lane               int
	available, expires *time.Time
	held               bool
	errors, retries    int
	lastError          string
}

const queueColumns = "q.lane, q.available_at, q.claim_expires_at, q.held, q.consecutive_errors, q.retries, q.last_error"

func (q *queueRow) columns() []any {
	return []any{&q.lane, &q.available, &q.expires, &q.held, &q.errors, &q.retries, &q.lastError}
}

// state tells where the key stands. A claim that has expired is none.
func (q *queueRow) state(now time.Time) controller.QueueRow {
	row := controller.QueueRow{
		State: controller.QueueReady, AvailableAt: q.available, Lane: controller.Lane(q.lane),
		ConsecutiveErrors: q.errors, Retries: q.retries, LastError: q.lastError,
	}
	switch {
	case q.available == nil:
		row.State = controller.QueueNone
	case q.expires != nil && q.expires.After(now):
		row.State, row.AvailableAt = controller.QueueClaimed, nil
	case q.held:
		row.State = controller.QueueSuspended
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
		var q queueRow
		var a attention
		found, err := t.first("SELECT "+queueColumns+", "+attentionColumns+` FROM resources r
			LEFT JOIN queue q ON q.resource_id = r.id
			WHERE r.scope = ? AND r.controller = ? AND r.resource_key = ?`,
			values(t.scope, ref.Controller, ref.Key), append(q.columns(), a.columns()...)...)
		if err == nil && !found {
			err = &controller.NotFoundError{Ref: ref}
		}
		if err != nil {
			return controller.QueueRow{}, err
		}
		row := q.state(t.now)
		return row, a.show(&row)
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
		var next *time.Time
		_, err := t.first(`SELECT count(*) FILTER (WHERE due_at <= ?2), min(due_at) FILTER (WHERE due_at > ?2)
			FROM workflow_run_queue WHERE scope = ?1 AND child_request_id IS NOT NULL AND status IN ('queued', 'running')`,
			values(t.scope, t.now), &b.Runs, &next)
		b.NextDue = earlier(b.NextDue, next)
		return b, err
	})
}

// count adds the rows of one controller to a backlog.
func (t *tx) count(b *controller.Backlog, name string) error {
	var claimed, ready, delayed int
	var next, oldest *time.Time
	_, err := t.first(`SELECT
			count(*) FILTER (WHERE claim_expires_at > ?3),
			count(*) FILTER (WHERE claim_expires_at <= ?3 OR claim_token IS NULL AND available_at <= ?3 AND NOT held),
			count(*) FILTER (WHERE claim_token IS NULL AND available_at > ?3 AND NOT held),
			min(available_at) FILTER (WHERE claim_token IS NULL AND available_at > ?3 AND NOT held),
			min(available_at) FILTER (WHERE claim_token IS NULL AND available_at <= ?3 AND NOT held)
		FROM queue WHERE controller_id = (SELECT id FROM controllers WHERE scope = ?1 AND controller = ?2)`,
		values(t.scope, name, t.now), &claimed, &ready, &delayed, &next, &oldest)
	if oldest != nil {
		b.Waiting = max(b.Waiting, t.now.Sub(*oldest))
	}
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
