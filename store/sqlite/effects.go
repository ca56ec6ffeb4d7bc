package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// maxReference bounds the reference that a provider gives, in characters.
const maxReference = 2048

// ReserveEffect finds or makes the record of an effect; see controller.Store.
func (s *Store) ReserveEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectReservation,
) (controller.EffectRecord, controller.Reservation, error) {
	if err := controller.ValidateKey("effect key", e.Key); err != nil {
		return controller.EffectRecord{}, "", err
	}
	if err := controller.ValidateName("effect kind", e.Kind); err != nil {
		return controller.EffectRecord{}, "", err
	}
	var found controller.Reservation
	r, err := write(ctx, s, "reserve effect", func(t *tx) (r controller.EffectRecord, err error) {
		r, found, err = t.reserveEffect(c, e)
		return r, err
	})
	if err != nil {
		found = ""
	}
	return r, found, err
}

func (t *tx) reserveEffect(
	c *controller.Claim, e controller.EffectReservation,
) (r controller.EffectRecord, found controller.Reservation, err error) {
	h, err := t.live(c)
	if err != nil {
		return r, "", err
	}
	r, exists, err := t.effect(h.uid, e.Key)
	if err != nil {
		return r, "", err
	}
	if !exists {
		r, err = t.newEffect(h.record, e)
		return r, controller.EffectNew, err
	}
	if differs := difference(r, e); differs != "" {
		return r, "", &controller.EffectConflictError{Ref: c.Ref, Key: e.Key, Differs: differs}
	}
	if r.State.Final() {
		return r, controller.EffectDone, nil
	}
	if err := t.exec("UPDATE effects SET apply_next = 0 WHERE resource_uid = ? AND effect_key = ? AND apply_next = 1",
		h.uid, e.Key); err != nil {
		return r, "", err
	}
	if t.changed() > 0 {
		return r, controller.EffectNew, nil
	}
	return r, controller.EffectOpen, nil
}

// difference names what a key was used for before that is not asked for now.
func difference(r controller.EffectRecord, e controller.EffectReservation) string {
	switch {
	case r.RequestFingerprint != e.RequestFingerprint:
		return "request"
	case r.Generation != e.Generation:
		return "generation"
	case r.Kind != e.Kind:
		return "kind"
	}
	return ""
}

func (t *tx) newEffect(of record, e controller.EffectReservation) (controller.EffectRecord, error) {
	r := controller.EffectRecord{
		Key: e.Key, ResourceUID: of.uid, Generation: e.Generation, Kind: e.Kind,
		RequestFingerprint: e.RequestFingerprint, State: controller.EffectPending,
		Token: uuid.NewString(), StartedAt: t.now,
	}
	err := t.exec(`INSERT INTO effects (resource_uid, effect_key, generation, kind, state, request_fingerprint,
			token, started_at, apply_next)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
		r.ResourceUID, r.Key, r.Generation, r.Kind, string(r.State), r.RequestFingerprint, r.Token, r.StartedAt)
	if err != nil {
		return r, err
	}
	return r, t.tellEffect(of.Ref, controller.EventEffectPending, r)
}

// FinishEffect records what is known of an effect; see controller.Store. To
// change a final state is an *controller.EffectConflictError.
func (s *Store) FinishEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectOutcome,
) (controller.EffectRecord, error) {
	switch e.State {
	case controller.EffectPending, controller.EffectApplied, controller.EffectRejected, controller.EffectIndeterminate:
	default:
		return controller.EffectRecord{}, fmt.Errorf("an effect cannot be %.20q: use a state of controller.EffectState", string(e.State))
	}
	e.Error = limit.Text(e.Error, controller.MaxError)
	e.ExternalRef = limit.Text(e.ExternalRef, maxReference)
	return write(ctx, s, "finish effect", func(t *tx) (controller.EffectRecord, error) {
		h, err := t.live(c)
		if err != nil {
			return controller.EffectRecord{}, err
		}
		r, exists, err := t.effect(h.uid, e.Key)
		if err != nil {
			return r, err
		}
		if !exists {
			return r, fmt.Errorf("effect %q of %s was never reserved: reserve it first", e.Key, c.Ref)
		}
		return t.finishEffect(h.Ref, r, e)
	})
}

func (t *tx) finishEffect(
	ref controller.Ref, r controller.EffectRecord, e controller.EffectOutcome,
) (controller.EffectRecord, error) {
	if r.State.Final() {
		if e.State != r.State {
			return r, &controller.EffectConflictError{Ref: ref, Key: r.Key, Differs: "state"}
		}
		return r, nil
	}
	r.State, r.Error = e.State, e.Error
	if e.ExternalRef != "" {
		r.ExternalRef = e.ExternalRef
	}
	if r.State.Final() {
		r.CompletedAt = &t.now
	}
	err := t.exec(`UPDATE effects SET state = ?, external_ref = ?, error = ?, completed_at = ?
		WHERE resource_uid = ? AND effect_key = ?`,
		string(r.State), orNull(r.ExternalRef), orNull(r.Error), orNever(r.CompletedAt), r.ResourceUID, r.Key)
	if err != nil || e.Event == "" {
		return r, err
	}
	return r, t.tellEffect(ref, e.Event, r)
}

// orNever stores a missing time as NULL.
func orNever(at *time.Time) any {
	if at == nil {
		return nil
	}
	return *at
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

const effectQuery = `SELECT effect_key, resource_uid, generation, kind, state, request_fingerprint, token,
	external_ref, error, started_at, completed_at FROM effects`

func effectColumns(r *controller.EffectRecord) []any {
	return []any{
		&r.Key, &r.ResourceUID, &r.Generation, &r.Kind, (*string)(&r.State), &r.RequestFingerprint, &r.Token,
		&r.ExternalRef, &r.Error, &r.StartedAt, &r.CompletedAt,
	}
}

func (t *tx) effect(uid, key string) (r controller.EffectRecord, found bool, err error) {
	found, err = t.first(effectQuery+" WHERE resource_uid = ? AND effect_key = ?", values(uid, key), effectColumns(&r)...)
	return r, found, err
}

// unfinishedEffects reports whether there is an effect of which nobody knows how
// it ended.
func (t *tx) unfinishedEffects(uid string) (bool, error) {
	return t.first("SELECT 1 FROM effects WHERE resource_uid = ? AND state IN ('pending', 'indeterminate')", values(uid))
}

func (t *tx) tellEffect(ref controller.Ref, kind controller.EventType, r controller.EffectRecord) error {
	return t.tell(ref, kind, struct {
		EffectKey   string                 `json:"effectKey"`
		Kind        string                 `json:"kind"`
		Generation  int64                  `json:"generation"`
		State       controller.EffectState `json:"state"`
		ExternalRef string                 `json:"externalRef,omitempty"`
		Error       string                 `json:"error,omitempty"`
	}{r.Key, r.Kind, r.Generation, r.State, r.ExternalRef, r.Error})
}
