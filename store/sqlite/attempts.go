package sqlite

import (
	"context"
	"time"

	"piworkflows/controller"
)

// attemptEnd is how an attempt ended; at is nil if nobody saw it.
type attemptEnd struct {
	outcome controller.AttemptOutcome
	at      *time.Time
	err     string
}

// endAttempt records that the attempt which is under way, if any, is over. The
// caller stores the row.
func (t *tx) endAttempt(row *effectRow, end attemptEnd) error {
	if row.since == nil {
		return nil
	}
	if end.outcome == controller.OutcomeWithheld {
		// A person's word that it is not there is still to be acted on.
		row.applyNext = row.attempts > 0
		return nil
	}
	a := controller.EffectAttempt{
		Action: controller.EffectAction(row.action), StartedAt: *row.since, EndedAt: end.at, Outcome: end.outcome, Error: end.err,
	}
	return t.addAttempt(row, a)
}

// addAttempt records an attempt that is over, and drops what is beyond the bound.
func (t *tx) addAttempt(row *effectRow, a controller.EffectAttempt) error {
	row.attempts++
	err := t.exec(`INSERT INTO effect_attempts (effect_seq, number, action, started_at, ended_at, outcome, error, actor, reason)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		row.seq, row.attempts, string(a.Action), a.StartedAt, orNever(a.EndedAt), string(a.Outcome), orNull(a.Error),
		orNull(a.Actor), orNull(a.Reason))
	if err != nil || row.attempts <= controller.MaxAttempts {
		return err
	}
	return t.exec("DELETE FROM effect_attempts WHERE effect_seq = ? AND number > 1 AND number <= ?",
		row.seq, row.attempts-controller.MaxAttempts+1)
}

// EffectAttempts returns what was tried for an effect; see controller.Store.
func (s *Store) EffectAttempts(ctx context.Context, ref controller.Ref, effect string) ([]controller.EffectAttempt, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return nil, err
	}
	return read(ctx, s, "read attempts", func(t *tx) ([]controller.EffectAttempt, error) {
		row, err := t.effectOf(ref, effect)
		if err != nil {
			return nil, err
		}
		list, err := t.attempts(row.seq)
		if row.since != nil {
			list = append(list, row.lastAttempt())
		}
		return list, err
	})
}

// lastAttempt is the one that is under way, or that brought the effect to its end.
func (r *effectRow) lastAttempt() controller.EffectAttempt {
	a := controller.EffectAttempt{Number: r.attempts + 1, Action: controller.EffectAction(r.action), StartedAt: *r.since}
	if r.State.Final() {
		a.EndedAt, a.Outcome, a.Error = r.CompletedAt, controller.AttemptOutcome(r.State), r.Error
	}
	return a
}

// effectOf finds an effect of a resource.
func (t *tx) effectOf(ref controller.Ref, key string) (effectRow, error) {
	id, uid, err := t.identify(ref)
	if err != nil {
		return effectRow{}, err
	}
	row, found, err := t.effect(id, key)
	row.ResourceUID = uid
	if err == nil && !found {
		err = &controller.EffectNotFoundError{Ref: ref, Effect: key}
	}
	return row, err
}

func (t *tx) attempts(seq int64) ([]controller.EffectAttempt, error) {
	var list []controller.EffectAttempt
	var a controller.EffectAttempt
	err := t.each(`SELECT number, action, started_at, ended_at, outcome, error, actor, reason
		FROM effect_attempts WHERE effect_seq = ? ORDER BY number`, values(seq), func() error {
		list = append(list, a)
		return nil
	}, &a.Number, (*string)(&a.Action), &a.StartedAt, &a.EndedAt, (*string)(&a.Outcome), &a.Error, &a.Actor, &a.Reason)
	return list, err
}
