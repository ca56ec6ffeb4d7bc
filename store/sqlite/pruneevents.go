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
	if !p.DryRun {
		// Those after the end of the index are slow to find. Where there is no space for
		// it to grow, they are found all the same, and some of it comes back.
		err := s.do(ctx, "index events", (*tx).indexEvents)
		if disk := (*DiskError)(nil); err != nil && !(errors.As(err, &disk) && disk.Full) {
			return 0, err
		}
	}
	found, err := read(ctx, s, "find events to remove", func(t *tx) ([]int64, error) { return t.removableEvents(p, count) })
	if err != nil || p.DryRun {
		return len(found), err
	}
	return inBatches(ctx, s, "remove events", found, func(t *tx, seq int64) error {
		err := t.exec(`DELETE FROM event_index WHERE (controller, resource_key, seq) =
			(SELECT controller, resource_key, seq FROM events WHERE seq = ? AND scope = ?)`, seq, t.scope)
		if err != nil {
			return err
		}
		return t.exec("DELETE FROM events WHERE seq = ? AND scope = ?", seq, t.scope)
	})
}

// crowdedQuery finds the resources that have more events than a number: in the index,
// or with those after its end. Others may count that belong to other projects.
const crowdedQuery = `SELECT controller, resource_key FROM event_index
		GROUP BY controller, resource_key HAVING count(*) > ?1
	UNION SELECT controller, resource_key FROM events e WHERE seq > (SELECT seq FROM event_index_end)
		GROUP BY controller, resource_key HAVING count(*) + (SELECT count(*) FROM event_index i
			WHERE i.controller = e.controller AND i.resource_key = e.resource_key) > ?1`

// removableEvents finds the old ones, then those beyond the bound of a resource.
func (t *tx) removableEvents(p controller.EventPruning, count int) ([]int64, error) {
	found, err := t.eventsBefore(p.Before, count)
	if err != nil || p.PerResource == 0 || len(found) == count {
		return found, err
	}
	after := int64(0)
	if len(found) > 0 {
		after = found[len(found)-1]
	}
	var of controller.Ref
	err = t.each(crowdedQuery, values(p.PerResource), func() error {
		more, err := t.eventsBeyond(of, p, after, count-len(found))
		if found = append(found, more...); err == nil && len(found) == count {
			err = errEnough
		}
		return err
	}, &of.Controller, &of.Key)
	return found, err
}

// eventsBeyond finds the events of a resource that are older than as many newer ones
// as it may have, after the number of an event.
func (t *tx) eventsBeyond(of controller.Ref, p controller.EventPruning, after int64, count int) (list []int64, err error) {
	var seq int64
	err = t.each(`SELECT seq FROM events_by_resource
		WHERE scope = ?1 AND controller = ?2 AND resource_key = ?3 AND recorded_at < ?4 AND seq > ?5
			AND seq <= (SELECT seq FROM events_by_resource WHERE scope = ?1 AND controller = ?2 AND resource_key = ?3
				ORDER BY seq DESC LIMIT 1 OFFSET ?6)
		ORDER BY seq LIMIT ?7`,
		values(t.scope, of.Controller, of.Key, p.Spare, after, p.PerResource, count), func() error {
			list = append(list, seq)
			return nil
		}, &seq)
	return list, err
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
