package sqlite

import (
	"context"
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
	// attempts are over; action began at since, and is not.
	attempts int
	action   string
	since    *time.Time
}

const recordQuery = `SELECT effect_key, resource_uid, generation, kind, state, request_fingerprint, token,
	external_ref, error, started_at, completed_at`

const effectQuery = recordQuery + " FROM effects"

func effectColumns(r *controller.EffectRecord) []any {
	return []any{
		&r.Key, &r.ResourceUID, &r.Generation, &r.Kind, (*string)(&r.State), &r.RequestFingerprint, &r.Token,
		&r.ExternalRef, &r.Error, &r.StartedAt, &r.CompletedAt,
	}
}

const effectRowQuery = recordQuery + `, seq, apply_next, owner, attempts, attempt_action, attempt_at FROM effects
	WHERE resource_uid = ? AND effect_key = ?`

func (t *tx) effect(uid, key string) (r effectRow, found bool, err error) {
	found, err = t.first(effectRowQuery, values(uid, key), append(effectColumns(&r.EffectRecord),
		&r.seq, &r.applyNext, &r.owner, &r.attempts, &r.action, &r.since)...)
	return r, found, err
}

// Effects returns the records of a resource; see controller.Store.
func (s *Store) Effects(ctx context.Context, ref controller.Ref) ([]controller.EffectRecord, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return nil, err
	}
	return read(ctx, s, "read effects", func(t *tx) ([]controller.EffectRecord, error) {
		uid, err := t.uid(ref)
		if err != nil {
			return nil, err
		}
		var list []controller.EffectRecord
		var r controller.EffectRecord
		err = t.each(effectQuery+" WHERE resource_uid = ? ORDER BY seq", values(uid), func() error {
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
	return read(ctx, s, "list effects", func(t *tx) ([]controller.EffectItem, error) {
		var list []controller.EffectItem
		var item controller.EffectItem
		err := t.each(`SELECT r.controller, r.resource_key, e.effect_key, e.resource_uid, e.generation, e.kind, e.state,
				e.request_fingerprint, e.token, e.external_ref, e.error, e.started_at, e.completed_at
			FROM effects e JOIN resources r ON r.uid = e.resource_uid
			WHERE r.scope = ?1 AND (?2 = '' OR r.controller = ?2) AND (?3 = '' OR r.resource_key = ?3)
				AND (?4 = '' OR e.state = ?4)
			ORDER BY e.seq DESC LIMIT ?5`,
			values(t.scope, q.Controller, q.Key, string(q.State), count), func() error {
				list = append(list, item)
				return nil
			}, append([]any{&item.Controller, &item.Ref.Key}, effectColumns(&item.EffectRecord)...)...)
		return list, err
	})
}

// unfinishedEffects reports whether there is an effect of which nobody knows how
// it ended.
func (t *tx) unfinishedEffects(uid string) (bool, error) {
	return t.first("SELECT 1 FROM effects WHERE resource_uid = ? AND state IN ('pending', 'indeterminate')", values(uid))
}
