package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/internal/limit"
	"piworkflows/lease"
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
	row, exists, err := t.heldEffect(c, e.Key)
	if err != nil {
		return r, "", err
	}
	if !exists {
		return t.newEffect(c, e, row)
	}
	if differs := difference(row.EffectRecord, e); differs != "" {
		return r, "", &controller.EffectConflictError{Ref: c.Ref, Key: e.Key, Differs: differs}
	}
	if row.State.Final() {
		return row.EffectRecord, controller.EffectDone, nil
	}
	found = controller.EffectOpen
	if row.applyNext && !e.ObserveOnly {
		found = row.unseen()
	}
	return row.EffectRecord, found, t.takeEffect(c, row, found)
}

// difference names what a key was used for before that is not asked for now. Of a
// record that was cut the kind is not known any more.
func difference(r controller.EffectRecord, e controller.EffectReservation) string {
	switch {
	case r.RequestFingerprint != e.RequestFingerprint:
		return "request"
	case r.Generation != e.Generation:
		return "generation"
	case r.Kind != e.Kind && r.Kind != "":
		return "kind"
	}
	return ""
}

// firstAction is what follows a reservation.
func firstAction(found controller.Reservation) controller.EffectAction {
	if found == controller.EffectOpen {
		return controller.ActionObserve
	}
	return controller.ActionApply
}

// looksFirst reports whether a new effect is looked for before it is applied.
func (t *tx) looksFirst(e controller.EffectReservation, restorations bool) (bool, error) {
	if e.Adopt || e.ObserveOnly || !restorations {
		return e.Adopt || e.ObserveOnly, nil
	}
	restored, err := t.restoration()
	return restored != nil, err
}

func (t *tx) newEffect(
	c *controller.Claim, e controller.EffectReservation, none effectRow,
) (controller.EffectRecord, controller.Reservation, error) {
	found := none.unseen()
	looksFirst, err := t.looksFirst(e, none.restorations)
	if err != nil {
		return controller.EffectRecord{}, "", err
	}
	if looksFirst {
		found = controller.EffectOpen
	}
	r := controller.EffectRecord{
		Key: e.Key, ResourceUID: c.Resource.Metadata.UID, Generation: e.Generation, Kind: e.Kind,
		RequestFingerprint: e.RequestFingerprint, State: controller.EffectPending,
		Token: uuid.NewString(), StartedAt: t.now,
	}
	err = t.exec(`INSERT INTO effects (resource_id, effect_key, generation, kind, state, request_fingerprint,
			token, started_at, apply_next, owner, attempts, attempt_action, attempt_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, ?, ?)`,
		rowOf(c.Token), r.Key, r.Generation, r.Kind, string(r.State), r.RequestFingerprint, r.Token, r.StartedAt,
		string(c.Token), string(firstAction(found)), t.now)
	if err != nil {
		return r, found, err
	}
	return r, found, t.tellEffect(c.Ref, controller.EventEffectPending, r)
}

// takeEffect makes an unfinished effect that of the pass. What an earlier pass
// began and never reported is over: nobody knows how.
func (t *tx) takeEffect(c *controller.Claim, row effectRow, found controller.Reservation) error {
	if err := t.endAttempt(&row, attemptEnd{outcome: controller.OutcomeUnknown}); err != nil {
		return err
	}
	return t.exec(`UPDATE effects SET owner = ?, apply_next = 0, attempts = ?, attempt_action = ?, attempt_at = ?
		WHERE seq = ? AND state IN ('pending', 'indeterminate')`,
		string(c.Token), row.attempts, string(firstAction(found)), t.now, row.seq)
}

// FinishEffect records what is known of an effect; see controller.Store. To
// change a final state is a *controller.EffectConflictError.
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
		row, exists, err := t.heldEffect(c, e.Key)
		if err != nil {
			return row.EffectRecord, err
		}
		if !exists {
			return row.EffectRecord, fmt.Errorf("effect %q of %s was never reserved: reserve it first", e.Key, c.Ref)
		}
		if row.State.Final() {
			return row.EffectRecord, sameEnd(c.Ref, row.EffectRecord, e.State)
		}
		if row.owner != string(c.Token) {
			return row.EffectRecord, &lease.LostError{What: fmt.Sprintf("effect %q of %s", e.Key, c.Ref), Reason: lease.Taken}
		}
		return t.finishEffect(c.Ref, row, e)
	})
}

// sameEnd refuses to change a final state.
func sameEnd(ref controller.Ref, r controller.EffectRecord, state controller.EffectState) error {
	if state == r.State {
		return nil
	}
	return &controller.EffectConflictError{Ref: ref, Key: r.Key, Differs: "state"}
}

func (t *tx) finishEffect(
	ref controller.Ref, row effectRow, e controller.EffectOutcome,
) (controller.EffectRecord, error) {
	if err := t.mayGoOn(e); err != nil {
		return row.EffectRecord, err
	}
	next, at, err := t.nextAttempt(&row, e)
	if err != nil {
		return row.EffectRecord, err
	}
	r := &row.EffectRecord
	r.State, r.Error = e.State, e.Error
	r.ExternalRef = cmp.Or(e.ExternalRef, r.ExternalRef)
	if r.State.Final() {
		r.CompletedAt = &t.now
	}
	err = t.exec(`UPDATE effects SET state = ?, external_ref = ?, error = ?, completed_at = ?, apply_next = ?, attempts = ?,
			attempt_action = ?, attempt_at = ?
		WHERE seq = ? AND owner = ? AND state IN ('pending', 'indeterminate')`,
		string(r.State), orNull(r.ExternalRef), orNull(r.Error), orNever(r.CompletedAt), row.applyNext, row.attempts,
		orNull(next), orNever(at), row.seq, row.owner)
	if err != nil || e.Event == "" {
		return *r, err
	}
	return *r, t.tellEffect(ref, e.Event, *r)
}

// nextAttempt returns what the row says of an attempt after an outcome. The one that
// brought the effect to its end stays: the record tells how it ended.
func (t *tx) nextAttempt(row *effectRow, e controller.EffectOutcome) (action string, at *time.Time, err error) {
	if e.State.Final() && e.Outcome == "" {
		return row.action, row.since, nil
	}
	end := attemptEnd{outcome: cmp.Or(e.Outcome, controller.AttemptOutcome(e.State)), at: &t.now, err: e.Error}
	if err := t.endAttempt(row, end); err != nil || !e.Applies {
		return "", nil, err
	}
	return string(controller.ActionApply), &t.now, nil
}

// mayGoOn refuses to let a pass go on to apply in a frozen project.
func (t *tx) mayGoOn(e controller.EffectOutcome) error {
	if !e.Applies {
		return nil
	}
	f, err := t.frozen()
	if f != nil {
		err = &controller.FrozenError{Freeze: *f}
	}
	return err
}

// orNever stores a missing time as NULL.
func orNever(at *time.Time) any {
	if at == nil {
		return nil
	}
	return *at
}

func (t *tx) tellEffect(ref controller.Ref, kind controller.EventType, r controller.EffectRecord) error {
	var o object
	o.string("effectKey", r.Key)
	o.string("kind", r.Kind)
	o.number("generation", r.Generation)
	o.string("state", string(r.State))
	o.stringIfAny("externalRef", r.ExternalRef)
	o.stringIfAny("error", r.Error)
	return t.tellObject(ref, kind, o)
}
