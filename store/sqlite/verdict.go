package sqlite

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// ResolveEffect records a person's verdict on an effect; see controller.Store.
func (s *Store) ResolveEffect(ctx context.Context, ref controller.Ref, v controller.Verdict) (controller.EffectRecord, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return controller.EffectRecord{}, err
	}
	if err := v.Check(); err != nil {
		return controller.EffectRecord{}, err
	}
	v.Reason = limit.Text(v.Reason, controller.MaxMessage)
	return write(ctx, s, "resolve effect", func(t *tx) (controller.EffectRecord, error) {
		r, err := t.resolvable(ref, v.Effect)
		if err != nil {
			return r, err
		}
		if err := t.resolve(&r, v); err != nil {
			return r, err
		}
		if _, err := t.wake(ref, controller.LaneRequest); err != nil {
			return r, err
		}
		return r, t.tell(ref, controller.EventEffectResolved, verdictPayload{
			EffectKey: r.Key, State: r.State, Verdict: v.Kind, actorPayload: actorPayload{v.Actor, v.Reason},
		})
	})
}

type verdictPayload struct {
	EffectKey string                 `json:"effectKey"`
	State     controller.EffectState `json:"state"`
	Verdict   controller.VerdictKind `json:"verdict"`
	actorPayload
}

// resolvable finds an effect on which there can be a verdict. While a pass works
// on the resource it may be finding out by itself.
func (t *tx) resolvable(ref controller.Ref, key string) (controller.EffectRecord, error) {
	uid, err := t.uid(ref)
	if err != nil {
		return controller.EffectRecord{}, err
	}
	r, exists, err := t.effect(uid, key)
	if err != nil {
		return r, err
	}
	if !exists {
		return r, &controller.EffectNotFoundError{Ref: ref, Effect: key}
	}
	if r.State.Final() {
		return r, &controller.EffectResolvedError{Ref: ref, Effect: key, State: r.State}
	}
	busy, err := t.claimed(ref)
	if busy {
		err = &controller.EffectBusyError{Ref: ref, Effect: key}
	}
	return r, err
}

// resolve changes the record.
func (t *tx) resolve(r *controller.EffectRecord, v controller.Verdict) error {
	next := false
	switch v.Kind {
	case controller.VerdictApplied:
		r.State, r.CompletedAt = controller.EffectApplied, &t.now
	case controller.VerdictAbandon:
		r.State, r.CompletedAt = controller.EffectRejected, &t.now
	case controller.VerdictNotApplied:
		r.State, next = controller.EffectPending, true
	}
	r.Error = fmt.Sprintf("%s says %s: %s", v.Actor, v.Kind, v.Reason)
	return t.exec(`UPDATE effects SET state = ?, error = ?, completed_at = ?, apply_next = ?
		WHERE resource_uid = ? AND effect_key = ?`,
		string(r.State), r.Error, orNever(r.CompletedAt), next, r.ResourceUID, r.Key)
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
