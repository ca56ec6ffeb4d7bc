package sqlite

import (
	"context"
	"errors"
	"time"

	"piworkflows/controller"
)

// PruneEvents removes old events; see controller.Store.
func (s *Store) PruneEvents(ctx context.Context, p controller.EventPruning) (int, error) {
	count, err := pruneSize("events to remove", p.Limit)
	if err != nil {
		return 0, err
	}
	found, err := read(ctx, s, "find events to remove", func(t *tx) ([]int64, error) { return t.removableEvents(p, count) })
	if err != nil || p.DryRun {
		return len(found), err
	}
	return inBatches(ctx, s, "remove events", found, func(t *tx, seq int64) error {
		return t.exec("DELETE FROM events WHERE seq = ? AND scope = ?", seq, t.scope)
	})
}

// removableEvents finds the old ones, then those beyond the bound of a resource.
func (t *tx) removableEvents(p controller.EventPruning, count int) ([]int64, error) {
	old, err := t.eventsBefore(p.Before, count)
	if err != nil || p.PerResource == 0 || len(old) == count {
		return old, err
	}
	after := int64(0)
	if len(old) > 0 {
		after = old[len(old)-1]
	}
	var seq int64
	err = t.each(`SELECT e.seq FROM (
			SELECT o.controller, o.resource_key, (SELECT n.seq FROM events n
				WHERE n.scope = ?1 AND n.controller = o.controller AND n.resource_key = o.resource_key
				ORDER BY n.seq DESC LIMIT 1 OFFSET ?2) AS last
			FROM events o WHERE o.scope = ?1 GROUP BY o.controller, o.resource_key HAVING count(*) > ?2) over
		JOIN events e ON e.scope = ?1 AND e.controller = over.controller AND e.resource_key = over.resource_key
		WHERE e.seq > ?3 AND e.seq <= over.last AND e.recorded_at < ?4 LIMIT ?5`,
		values(t.scope, p.PerResource, after, p.Spare, count-len(old)), func() error {
			old = append(old, seq)
			return nil
		}, &seq)
	return old, err
}

// errYoung ends a search in the order of time.
var errYoung = errors.New("no older event follows")

// eventsBefore reads from the oldest event on, and stops at the first that is
// young enough: events come in the order of time, or nearly so. The newest one of
// the file stays: see head.
func (t *tx) eventsBefore(before time.Time, count int) ([]int64, error) {
	var list []int64
	var seq int64
	var at time.Time
	err := t.each(`SELECT seq, recorded_at FROM events WHERE scope = ? AND seq < (SELECT max(seq) FROM events)
		ORDER BY seq LIMIT ?`, values(t.scope, count), func() error {
		if !at.Before(before) {
			return errYoung
		}
		list = append(list, seq)
		return nil
	}, &seq, &at)
	if errors.Is(err, errYoung) {
		err = nil
	}
	return list, err
}

// PruneDeliveries forgets old deliveries; see controller.Store.
func (s *Store) PruneDeliveries(ctx context.Context, p controller.DeliveryPruning) (int, error) {
	count, err := pruneSize("deliveries to forget", p.Limit)
	if err != nil {
		return 0, err
	}
	found, err := read(ctx, s, "find deliveries to forget", func(t *tx) ([]delivered, error) { return t.deliveredBefore(p.Before, count) })
	if err != nil || p.DryRun {
		return len(found), err
	}
	return inBatches(ctx, s, "forget deliveries", found, func(t *tx, d delivered) error {
		return t.exec("DELETE FROM source_deliveries WHERE scope = ? AND controller = ? AND source = ? AND delivery_id = ?",
			t.scope, d.controller, d.source, d.id)
	})
}

// delivered names one delivery.
type delivered struct{ controller, source, id string }

func (t *tx) deliveredBefore(before time.Time, count int) ([]delivered, error) {
	var list []delivered
	var d delivered
	err := t.each("SELECT controller, source, delivery_id FROM source_deliveries WHERE scope = ? AND delivered_at < ? LIMIT ?",
		values(t.scope, before, count), func() error {
			list = append(list, d)
			return nil
		}, &d.controller, &d.source, &d.id)
	return list, err
}
