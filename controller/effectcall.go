package controller

import (
	"context"
	"errors"
	"fmt"

	"piworkflows/internal/limit"
)

// effectCall is one effect whose record is unfinished.
type effectCall struct {
	*effects
	effect Effect
	record EffectRecord
	// cleared says that the store has just let it be applied.
	cleared bool
}

// recover goes on with an effect that an earlier pass left unfinished: it looks
// first, and applies only what is certainly not there.
func (c effectCall) recover(ctx context.Context) (EffectRecord, error) {
	seen, err := c.observe(ctx)
	if err != nil {
		return c.record, c.observeFailed(ctx, err)
	}
	switch seen.State {
	case ObservedApplied:
		return c.store(ctx, EffectOutcome{State: EffectApplied, ExternalRef: seen.ExternalRef, Event: EventEffectRecovered})
	case ObservedIndeterminate:
		return c.store(ctx, EffectOutcome{State: EffectIndeterminate, ExternalRef: seen.ExternalRef, Event: EventEffectIndeterminate})
	default:
		return c.missing(ctx)
	}
}

// missing goes on with an effect that was looked for and is certainly not there.
// It records the observation together with the attempt to apply that follows, or
// alone if the effect has to wait.
func (c effectCall) missing(ctx context.Context) (EffectRecord, error) {
	seen := EffectOutcome{State: EffectPending, Outcome: OutcomeNotApplied}
	if c.effect.Apply == nil {
		return c.store(ctx, seen)
	}
	why := c.takeTurn()
	if why == nil {
		seen.Applies = true
		var record EffectRecord
		if record, why = c.store(ctx, seen); why == nil {
			c.record = record
			return c.apply(ctx)
		}
		if !isFrozen(why) {
			return c.record, why
		}
		seen.Applies = false
	}
	_, err := c.store(ctx, seen)
	return c.record, errors.Join(why, err)
}

// observeFailed leaves the state as it is. A pass that was cancelled says nothing
// about the effect.
func (c effectCall) observeFailed(ctx context.Context, err error) error {
	err = fmt.Errorf("observe effect %q: %w", c.record.Key, err)
	if ctx.Err() != nil {
		return err
	}
	_, storeErr := c.store(ctx, EffectOutcome{
		State: c.record.State, Error: errorText(err), Outcome: OutcomeFailed, Event: EventEffectObserveFailed,
	})
	return errors.Join(err, storeErr)
}

func (c effectCall) observe(ctx context.Context) (Observation, error) {
	seen, err := guarded("Observe", func() (Observation, error) { return c.effect.Observe(ctx) })
	if err != nil {
		return Observation{}, err
	}
	switch seen.State {
	case ObservedApplied, ObservedNotApplied, ObservedIndeterminate:
		return seen, nil
	}
	return Observation{}, fmt.Errorf("it answered %.80q: answer applied, not_applied or indeterminate", seen.State)
}

// first applies an effect that needs no observation.
func (c effectCall) first(ctx context.Context) (EffectRecord, error) {
	why := c.takeTurn()
	if why == nil && !c.cleared {
		why = c.o.Store.CheckApply(ctx, c.claim)
	}
	if why == nil {
		return c.apply(ctx)
	}
	if !errors.Is(why, ErrSecondApply) && !isFrozen(why) {
		return c.record, why
	}
	_, err := c.store(ctx, EffectOutcome{State: c.record.State, Error: c.record.Error, Outcome: OutcomeWithheld})
	return c.record, errors.Join(why, err)
}

// apply makes the one external change of the pass, of which the store was told a
// moment ago. Whatever goes wrong in Apply, the change may be there, so the effect
// is indeterminate.
func (c effectCall) apply(ctx context.Context) (EffectRecord, error) {
	if err := c.live(ctx, c.pass); err != nil {
		return c.record, err
	}
	c.applied.Store(true)
	done, err := guarded("Apply", func() (Application, error) { return c.effect.Apply(ctx, c.record.Token) })
	if thrown := (*PanicError)(nil); errors.As(err, &thrown) {
		c.log.Error("effect panicked", "effectKey", c.record.Key, "error", err, "stack", string(thrown.Stack))
	}
	return c.store(ctx, outcomeOfApply(done, err))
}

// takeTurn says whether the pass still has its one change.
func (c effectCall) takeTurn() error {
	if c.applied.Load() {
		return &SecondApplyError{Ref: c.claim.Ref, Effect: c.record.Key}
	}
	return c.live(c.pass, c.pass)
}

// outcomeOfApply says what is known after Apply.
func outcomeOfApply(done Application, err error) EffectOutcome {
	o := EffectOutcome{State: done.State, ExternalRef: done.ExternalRef, Error: done.Reason}
	if err != nil {
		o = EffectOutcome{State: EffectIndeterminate, Error: errorText(err)}
	}
	switch o.State {
	case EffectApplied:
		o.Event = EventEffectApplied
	case EffectRejected:
		o.Event = EventEffectRejected
	case EffectIndeterminate:
		o.Event = EventEffectIndeterminate
	default:
		o.Error = fmt.Sprintf("Apply answered %.80q: answer applied, rejected or indeterminate", done.State)
		o.State, o.Event = EffectIndeterminate, EventEffectIndeterminate
	}
	return o
}

// store records an outcome, also when the pass was cancelled meanwhile. If the
// claim is gone the store refuses, and the next pass observes.
func (c effectCall) store(ctx context.Context, o EffectOutcome) (EffectRecord, error) {
	ctx, cancel := c.detached(ctx)
	defer cancel()
	o.Key, o.Error = c.record.Key, limit.Text(o.Error, MaxError)
	record, err := c.o.Store.FinishEffect(ctx, c.claim, o)
	if err != nil {
		return c.record, fmt.Errorf("record effect %q as %s: %w", o.Key, o.State, err)
	}
	c.observeEffect(record, o.Event, o.Error)
	return record, nil
}
