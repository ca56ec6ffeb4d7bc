package controller

import (
	"context"
	"slices"
	"time"

	"piworkflows/runqueue"
	"piworkflows/secret"
)

// Redacting returns a store that keeps the secrets of this process out of s.
// What tells is masked: statuses, conditions, errors, references, outputs. What
// means something is refused with a *secret.LeakError: a spec, the input of a
// child run, a key. The Manager and the host wrap their stores by themselves.
//
// Spec: Safety rules.
func Redacting(s Store) Store {
	switch s := s.(type) {
	case redacting, redactingClaimer:
		return s
	case claimingStore:
		return redactingClaimer{redacting{s}, s}
	}
	return redacting{s}
}

// claimingStore is a Store that is a FinishClaimer.
type claimingStore interface {
	Store
	FinishClaimer
}

// redactingClaimer is redacting for such a store.
type redactingClaimer struct {
	redacting
	next FinishClaimer
}

// FinishAndClaim implements FinishClaimer.
func (s redactingClaimer) FinishAndClaim(
	ctx context.Context, c *Claim, f Finish, controllers []string, d time.Duration,
) (Finished, *Claim, error) {
	return s.next.FinishAndClaim(ctx, c, f.redacted(), controllers, d)
}

type redacting struct{ Store }

// Put implements Store.
func (s redacting) Put(ctx context.Context, p Put) (PutResult, error) {
	if err := secret.CheckText("resource key", p.Ref.Key); err != nil {
		return PutResult{}, err
	}
	if err := secret.Check("resource spec", p.Spec); err != nil {
		return PutResult{}, err
	}
	p.InitialStatus = secret.RedactJSON(p.InitialStatus)
	return s.Store.Put(ctx, p)
}

// Deliver implements Store.
func (s redacting) Deliver(ctx context.Context, owner string, d Delivery) (DeliveryResult, error) {
	if err := secret.CheckText("delivery ID", d.ID); err != nil {
		return DeliveryResult{}, err
	}
	if err := secret.CheckText("cursor of a source", d.Cursor); err != nil {
		return DeliveryResult{}, err
	}
	d.Note = secret.Redact(d.Note)
	return s.Store.Deliver(ctx, owner, d)
}

// RecordSources implements Store.
func (s redacting) RecordSources(ctx context.Context, list []SourceStatus) error {
	list = slices.Clone(list)
	for i := range list {
		for _, text := range []*string{&list[i].Reason, &list[i].LastError, &list[i].LastRefusal} {
			*text = secret.Redact(*text)
		}
	}
	return s.Store.RecordSources(ctx, list)
}

// Finish implements Store.
func (s redacting) Finish(ctx context.Context, c *Claim, f Finish) (Finished, error) {
	return s.Store.Finish(ctx, c, f.redacted())
}

// redacted masks what a pass tells.
func (f Finish) redacted() Finish {
	f.Err = secret.Redact(f.Err)
	if f.Write != nil {
		write := *f.Write
		write.ControllerStatus = secret.RedactJSON(write.ControllerStatus)
		write.Conditions = slices.Clone(write.Conditions)
		for i := range write.Conditions {
			write.Conditions[i].Message = secret.Redact(write.Conditions[i].Message)
		}
		f.Write = &write
	}
	return f
}

// ReserveEffect implements Store.
func (s redacting) ReserveEffect(ctx context.Context, c *Claim, e EffectReservation) (EffectRecord, Reservation, error) {
	if err := secret.CheckText("effect key", e.Key); err != nil {
		return EffectRecord{}, "", err
	}
	return s.Store.ReserveEffect(ctx, c, e)
}

// FinishEffect implements Store.
func (s redacting) FinishEffect(ctx context.Context, c *Claim, e EffectOutcome) (EffectRecord, error) {
	e.ExternalRef, e.Error = secret.Redact(e.ExternalRef), secret.Redact(e.Error)
	return s.Store.FinishEffect(ctx, c, e)
}

// ReserveChild implements Store.
func (s redacting) ReserveChild(ctx context.Context, c *Claim, r ChildReservation) (ChildRun, ChildReserved, error) {
	if err := secret.CheckText("key of the child request", r.RequestKey); err != nil {
		return ChildRun{}, ChildReserved{}, err
	}
	if err := secret.Check("input of the child run", r.Input); err != nil {
		return ChildRun{}, ChildReserved{}, err
	}
	return s.Store.ReserveChild(ctx, c, r)
}

// CancelChildren implements Store.
func (s redacting) CancelChildren(ctx context.Context, c *Claim, r ChildCancellation) (ChildrenCancelled, error) {
	r.Reason = secret.Redact(r.Reason)
	return s.Store.CancelChildren(ctx, c, r)
}

// FinishChild implements Store.
func (s redacting) FinishChild(ctx context.Context, run *runqueue.Claim, o ChildOutcome) error {
	o.Error, o.Output = secret.Redact(o.Error), secret.RedactJSON(o.Output)
	return s.Store.FinishChild(ctx, run, o)
}
