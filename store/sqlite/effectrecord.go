package sqlite

import (
	"context"
	"math"
	"strconv"
	"time"

	"piworkflows/controller"
)

// effectRow is the record of an effect with what only the store needs.
type effectRow struct {
	controller.EffectRecord
	seq       int64
	applyNext bool
	// owner is the claim of the pass that may finish the effect.
	owner string
	// attempts are over and have rows; action began at since, and is not over, or
	// brought the effect to its end.
	attempts int
	action   string
	since    *time.Time
	// restorations says that a project of the file was once brought back from a copy,
	// frozen that nothing is applied in this one. They hold without an effect as well.
	restorations, frozen bool
}

// unseen is what a reservation finds if the effect need not be looked for first.
func (r *effectRow) unseen() controller.Reservation {
	if r.frozen {
		return controller.EffectFrozen
	}
	return controller.EffectNew
}

// What is read of an effect: its record but for the UID of its resource, and the
// rest of the row.
const (
	effectFields = `e.effect_key, e.generation, e.kind, e.state, e.request_fingerprint, e.token,
		e.external_ref, e.error, e.started_at, e.completed_at`
	effectRowFields = effectFields + ", e.seq, e.apply_next, e.owner, e.attempts, e.attempt_action, e.attempt_at"
)

func effectColumns(r *controller.EffectRecord) []any {
	return []any{
		&r.Key, &r.Generation, &r.Kind, (*string)(&r.State), &r.RequestFingerprint, &r.Token,
		&r.ExternalRef, &r.Error, &r.StartedAt, &r.CompletedAt,
	}
}

func (r *effectRow) columns() []any {
	return append(effectColumns(&r.EffectRecord), &r.seq, &r.applyNext, &r.owner, &r.attempts, &r.action, &r.since)
}

func (t *tx) effect(resource int64, key string) (r effectRow, found bool, err error) {
	found, err = t.first("SELECT "+effectRowFields+" FROM effects e WHERE e.resource_id = ? AND e.effect_key = ?",
		values(resource, key), r.columns()...)
	return r, found, err
}

// heldEffect finds an effect of the resource that a live claim holds.
func (t *tx) heldEffect(c *controller.Claim, key string) (r effectRow, found bool, err error) {
	var h hold
	held, err := t.first("SELECT "+holdColumns+`, EXISTS (SELECT 1 FROM restorations),
			EXISTS (SELECT 1 FROM freezes f WHERE f.scope = l.scope), `+effectRowFields+" FROM "+holdTables+`
			LEFT JOIN effects e ON e.resource_id = q.resource_id AND e.effect_key = ?`+holdWhere,
		values(key, rowOf(c.Token), t.scope), append(append(h.columns(), &r.restorations, &r.frozen), r.columns()...)...)
	r.ResourceUID = c.Resource.Metadata.UID
	if err == nil {
		err = h.check(c, held, t.now)
	}
	return r, r.seq != 0, err
}

// Effects returns the records of a resource; see controller.Store.
func (s *Store) Effects(ctx context.Context, ref controller.Ref) ([]controller.EffectRecord, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return nil, err
	}
	return read(ctx, s, "read effects", func(t *tx) ([]controller.EffectRecord, error) {
		id, uid, err := t.identify(ref)
		if err != nil {
			return nil, err
		}
		var list []controller.EffectRecord
		r := controller.EffectRecord{ResourceUID: uid}
		err = t.each("SELECT "+effectFields+" FROM effects e WHERE e.resource_id = ? ORDER BY e.seq", values(id), func() error {
			list = append(list, r)
			return nil
		}, effectColumns(&r)...)
		return list, err
	})
}

// ListEffects returns effects of the project, the newest first; see
// controller.Store.
func (s *Store) ListEffects(ctx context.Context, q controller.EffectQuery) ([]controller.EffectItem, error) {
	count, err := pageSize("effects", q.Limit, maxPage)
	if err != nil {
		return nil, err
	}
	before := int64(math.MaxInt64)
	if q.Continue != "" {
		if before, err = strconv.ParseInt(q.Continue, 10, 64); err != nil {
			return nil, &CursorError{Cursor: q.Continue}
		}
	}
	return read(ctx, s, "list effects", func(t *tx) ([]controller.EffectItem, error) {
		var list []controller.EffectItem
		var item controller.EffectItem
		var seq int64
		err := t.each("SELECT e.seq, r.controller, r.resource_key, r.uid, "+effectFields+`
			FROM effects e JOIN resources r ON r.id = e.resource_id
			WHERE r.scope = ?1 AND (?2 = '' OR r.controller = ?2) AND (?3 = '' OR r.resource_key = ?3)
				AND (?4 = '' OR e.state = ?4) AND e.seq < ?6
			ORDER BY e.seq DESC LIMIT ?5`,
			values(t.scope, q.Controller, q.Key, string(q.State), count, before), func() error {
				item.Continue = strconv.FormatInt(seq, 10)
				list = append(list, item)
				return nil
			}, append([]any{&seq, &item.Controller, &item.Ref.Key, &item.ResourceUID}, effectColumns(&item.EffectRecord)...)...)
		return list, err
	})
}

// unfinishedEffects reports whether there is an effect of which nobody knows how
// it ended.
func (t *tx) unfinishedEffects(resource int64) (bool, error) {
	return t.first("SELECT 1 FROM effects WHERE resource_id = ? AND state IN ('pending', 'indeterminate')", values(resource))
}
