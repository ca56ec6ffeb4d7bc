package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/lease"
)

// effects is the Effects of one pass.
//
// The order is what makes an effect recoverable: the record is durable before
// anybody is called, an unfinished record is observed before it is applied, and
// the store has said at most a clearance before Apply that the claim holds.
type effects struct {
	*passRun
	pass context.Context //nolint:containedctx // the life of the pass, whatever context the author passes
	// mu makes the calls of one pass follow each other.
	mu sync.Mutex
}

// clearance is how long the word of the store that an effect may be applied is good.
// What takes the claim away in that time, or freezes the project, could as well come
// right after the question; that a lease has run out ends the pass without it.
const clearance = 100 * time.Millisecond

// Ensure implements Effects.
func (s *effects) Ensure(ctx context.Context, e Effect) (EffectRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, leave, err := s.enter(ctx, s.pass)
	if err != nil {
		return EffectRecord{}, err
	}
	defer leave()
	r, err := s.reservation(e)
	if err != nil {
		return EffectRecord{}, fmt.Errorf("effect %.80q: %w", e.Key, err)
	}
	if err := s.refuseSecond(ctx, e); err != nil {
		return EffectRecord{}, err
	}
	asked := s.o.Clock.Now().Round(0) // by a clock that goes on while the machine sleeps
	record, found, err := s.o.Store.ReserveEffect(ctx, s.claim, r)
	if err != nil || found == EffectDone {
		return record, err
	}
	if found != EffectOpen {
		s.observeEffect(record, EventEffectPending, "")
	}
	cleared := found == EffectNew && s.o.Clock.Now().Sub(asked) < clearance
	return s.finish(ctx, effectCall{effects: s, effect: e, record: record, cleared: cleared}, found)
}

// finish brings an unfinished effect as far as can be.
func (s *effects) finish(ctx context.Context, c effectCall, found Reservation) (record EffectRecord, err error) {
	if found == EffectOpen {
		record, err = c.recover(ctx)
	} else {
		record, err = c.first(ctx)
	}
	waits := errors.Is(err, ErrSecondApply) || isFrozen(err) || // for their turn
		err == nil && c.effect.Apply == nil && record.State == EffectPending // for somebody else
	if !waits {
		s.learn(record)
	}
	return record, err
}

// learn keeps the effects of the pass that are still in doubt.
func (p *passRun) learn(r EffectRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.State.Final() {
		delete(p.inDoubt, r.Key)
		return
	}
	if p.inDoubt == nil {
		p.inDoubt = map[string]EffectRecord{}
	}
	p.inDoubt[r.Key] = r
}

// doubt says which effect is unfinished although the pass tried to finish it;
// nil if there is none.
func (p *passRun) doubt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.inDoubt {
		return fmt.Errorf("effect %q is %s and will be observed: %s", r.Key, r.State, cmp.Or(r.Error, "its outcome is not known"))
	}
	return nil
}

// reservation checks the effect before anything is written.
func (s *effects) reservation(e Effect) (EffectReservation, error) {
	now := s.claim.Resource.Metadata.Generation
	if err := e.check(now); err != nil {
		return EffectReservation{}, err
	}
	request, err := canonicalValue("effect request", e.Request)
	if err != nil {
		return EffectReservation{}, err
	}
	return EffectReservation{
		Key: e.Key, Kind: e.Kind, Generation: cmp.Or(e.Generation, now), RequestFingerprint: canonical.Sum(request),
		Adopt: e.Adopt, ObserveOnly: e.Apply == nil,
	}, nil
}

// check lists what is wrong with an effect of a resource at a generation.
func (e Effect) check(now int64) error {
	problems := []error{ValidateKey("effect key", e.Key), ValidateName("effect kind", e.Kind)}
	if e.Generation < 0 || e.Generation > now {
		problems = append(problems, fmt.Errorf("generation %d: give one that the resource had, up to %d", e.Generation, now))
	}
	if e.Observe == nil {
		problems = append(problems, errors.New("it needs Observe, so that it can be found again"))
	}
	return errors.Join(problems...)
}

// refuseSecond keeps a pass that has applied from recording an effect that it
// could not apply. Effects that are recorded already may still be looked at.
func (s *effects) refuseSecond(ctx context.Context, e Effect) error {
	if !s.applied.Load() || e.Apply == nil {
		return nil
	}
	records, err := s.o.Store.Effects(ctx, s.claim.Ref)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Key == e.Key {
			return nil
		}
	}
	return &SecondApplyError{Ref: s.claim.Ref, Effect: e.Key}
}

// canonicalValue turns what an author asks for into bounded canonical JSON.
func canonicalValue(what string, v any) (json.RawMessage, error) {
	raw, err := canonical.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if raw, err = canonical.Canonical(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return raw, limit.Bytes(what, raw, MaxRequestBytes)
}

// enter begins a service call: it refuses one that comes after the pass, and
// returns a context that also ends with the pass.
func (p *passRun) enter(ctx, pass context.Context) (context.Context, context.CancelFunc, error) {
	if err := p.live(ctx, pass); err != nil {
		return nil, nil, err
	}
	if ctx == pass {
		return ctx, func() {}, nil
	}
	ctx, cancel := linked(ctx, pass, nil)
	return ctx, cancel, nil
}

// live says why a service call may not go on. After its end or its deadline a
// pass has no claim, whatever the store knows by now.
func (p *passRun) live(ctx, pass context.Context) error {
	switch cause := context.Cause(pass); {
	case cause == nil:
		return context.Cause(ctx)
	case errors.Is(cause, ErrStopped), errors.Is(cause, lease.ErrLost):
		return cause
	default:
		return &lease.LostError{What: p.claim.Ref.String(), Reason: lease.Released}
	}
}
