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
		row, err := t.resolvable(ref, v.Effect)
		if err != nil {
			return row.EffectRecord, err
		}
		if err := t.resolve(&row, v); err != nil {
			return row.EffectRecord, err
		}
		err = t.tell(ref, controller.EventEffectResolved, verdictPayload{
			EffectKey: row.EffectRecord.Key, State: row.State, Verdict: v.Kind, actorPayload: actorPayload{v.Actor, v.Reason},
		})
		if err != nil {
			return row.EffectRecord, err
		}
		return row.EffectRecord, t.goOrWake(ref, controller.LaneRequest)
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
func (t *tx) resolvable(ref controller.Ref, key string) (effectRow, error) {
	row, err := t.effectOf(ref, key)
	if err != nil {
		return row, err
	}
	if row.State.Final() {
		return row, &controller.EffectResolvedError{Ref: ref, Effect: key, State: row.State}
	}
	busy, err := t.claimed(ref)
	if busy {
		err = &controller.EffectBusyError{Ref: ref, Effect: key}
	}
	return row, err
}

// resolve changes the record, which belongs to no pass from now on.
func (t *tx) resolve(row *effectRow, v controller.Verdict) error {
	if err := t.recordVerdict(row, v); err != nil {
		return err
	}
	r, next := &row.EffectRecord, false
	switch v.Kind {
	case controller.VerdictApplied:
		r.State, r.CompletedAt = controller.EffectApplied, &t.now
	case controller.VerdictAbandon:
		r.State, r.CompletedAt = controller.EffectRejected, &t.now
	case controller.VerdictNotApplied:
		r.State, next = controller.EffectPending, true
	}
	r.Error = fmt.Sprintf("%s says %s: %s", v.Actor, v.Kind, v.Reason)
	return t.exec(`UPDATE effects SET state = ?, error = ?, completed_at = ?, apply_next = ?, attempts = ?, owner = NULL,
			attempt_action = NULL, attempt_at = NULL
		WHERE seq = ? AND state IN ('pending', 'indeterminate')`,
		string(r.State), r.Error, orNever(r.CompletedAt), next, row.attempts, row.seq)
}

// recordVerdict ends what was under way and adds the word of the person.
func (t *tx) recordVerdict(row *effectRow, v controller.Verdict) error {
	if err := t.endAttempt(row, attemptEnd{outcome: controller.OutcomeUnknown}); err != nil {
		return err
	}
	return t.addAttempt(row, controller.EffectAttempt{
		Action: controller.ActionVerdict, StartedAt: t.now, EndedAt: &t.now,
		Outcome: controller.AttemptOutcome(v.Kind), Actor: v.Actor, Reason: v.Reason,
	})
}
