package sqlite

import (
	"context"
	"fmt"

	"piworkflows/runqueue"
)

// orders are what an order does to a row that is open.
var orders = map[runqueue.Order]string{
	runqueue.OrderPause: "paused = 1",
	runqueue.OrderGo:    "paused = 0",
	// Only who holds the row can act on it.
	runqueue.OrderCancel: "cancel_reason = iif(claim_expires_at > ?2, ?1, cancel_reason)",
	runqueue.OrderDetach: "detached = 1, paused = 0, refused_by = NULL",
}

// OrderRun says what somebody wants of a run; see runqueue.Store.
func (s *Store) OrderRun(ctx context.Context, runID string, o runqueue.Order, reason string) (runqueue.Row, error) {
	change, known := orders[o]
	if !known {
		return runqueue.Row{}, fmt.Errorf("no run can be told to %.20q", string(o))
	}
	if err := s.judgeHolder(ctx, runID); err != nil {
		return runqueue.Row{}, s.o.explain("order run", err)
	}
	return write(ctx, s, "order run", func(t *tx) (runqueue.Row, error) {
		row, err := t.run(runID)
		if err == nil {
			err = obeys(row, o)
		}
		if err != nil {
			return row, err
		}
		err = t.exec("UPDATE workflow_run_queue SET "+change+`, updated_at = ?2
			WHERE scope = ?3 AND run_id = ?4 AND status IN ('queued', 'running', 'parked')`,
			shortError(reason), t.now, t.scope, runID)
		if err != nil {
			return row, err
		}
		return t.run(runID)
	})
}

// obeys says why a row takes no order.
func obeys(row runqueue.Row, o runqueue.Order) error {
	err := adoptable(row)
	if _, held := err.(*runqueue.HeldError); held && o != runqueue.OrderDetach { //nolint:errorlint // adoptable wraps nothing
		return nil
	}
	return err
}

// AwaitRun waits for a change of a row; see runqueue.Store.
func (s *Store) AwaitRun(ctx context.Context, seen runqueue.Row) (runqueue.Row, error) {
	defer s.watch.enter()()
	for {
		committed := s.commit.next()
		var held outlook
		row, err := read(ctx, s, "await run", func(t *tx) (row runqueue.Row, err error) {
			if held, err = t.holderOf(seen.RunID); err != nil {
				return row, err
			}
			return t.run(seen.RunID)
		})
		if err != nil || changed(seen, row) {
			return row, err
		}
		if err := s.sleep(ctx, committed, s.wakeUp(ctx, held)); err != nil {
			return row, err
		}
	}
}

// holderOf says until when a row is held, and by whom if it is not this store.
func (t *tx) holderOf(runID string) (o outlook, err error) {
	var owner string
	_, err = t.first(`SELECT claim_expires_at, claim_owner FROM workflow_run_queue
		WHERE scope = ? AND run_id = ? AND claim_expires_at > ?`, values(t.scope, runID, t.now), &o.next, &owner)
	if owner != "" && owner != t.owner {
		o.others = []string{owner}
	}
	return o, err
}

// changed reports whether two states of a row differ in what others wait for.
func changed(a, b runqueue.Row) bool {
	return a.Status != b.Status || a.Holder != b.Holder || a.Paused != b.Paused || a.Detached != b.Detached ||
		a.CancelReason != b.CancelReason || a.ContinuedBy != b.ContinuedBy || a.Error != b.Error
}
