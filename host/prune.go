package host

import (
	"context"
	"errors"
	"time"

	"piworkflows/controller"
)

// Pruned is what a sweep removed, or would remove.
type Pruned struct {
	// Events, Effects and Deliveries count events that were removed, effects whose
	// records were cut, and deliveries that were forgotten.
	Events, Effects, Deliveries int
	// Runs are the runs that were removed with their bundles, the newest first.
	Runs []PrunedRun
	// Resources are those whose deletion was requested.
	Resources []controller.Ref
}

// Nothing reports whether there was nothing to remove.
func (p Pruned) Nothing() bool {
	return p.Events+p.Effects+p.Deliveries+len(p.Runs)+len(p.Resources) == 0
}

// Prune removes now what Options.Retention does not keep; a host does the same
// every hour. A dry run removes nothing and tells what would go. It may run beside
// hosts and other sweeps. After an error the rest is still tried; what was removed
// is told.
func Prune(ctx context.Context, o Options, store Store, dryRun bool) (Pruned, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return Pruned{}, err
	}
	return newSweeper(o, store).sweep(ctx, dryRun)
}

// sweeper removes what is not kept.
type sweeper struct {
	o     Options
	store Store
	// sizes are the bytes of bundles that do not change any more.
	sizes map[string]int64
}

func newSweeper(o Options, store Store) *sweeper {
	return &sweeper{o: o, store: store, sizes: map[string]int64{}}
}

func (s *sweeper) sweep(ctx context.Context, dryRun bool) (p Pruned, err error) {
	now := s.o.Clock.Now()
	for _, part := range []func() error{
		func() (err error) { p.Events, err = s.events(ctx, now, dryRun); return err },
		func() (err error) { p.Effects, err = s.effects(ctx, now, dryRun); return err },
		func() (err error) { p.Deliveries, err = s.deliveries(ctx, now, dryRun); return err },
		func() (err error) { p.Runs, err = s.runs(ctx, now, dryRun); return err },
		func() (err error) { p.Resources, err = s.resources(ctx, now, dryRun); return err },
	} {
		if ctx.Err() != nil {
			return p, errors.Join(err, context.Cause(ctx))
		}
		err = errors.Join(err, part())
	}
	return p, err
}

func (s *sweeper) events(ctx context.Context, now time.Time, dryRun bool) (int, error) {
	p := controller.EventPruning{Limit: sweepBatch, DryRun: dryRun, Spare: now.Add(-eventSpare)}
	if keep := s.o.Retention.Events; keep > 0 {
		p.Before = now.Add(-keep)
	}
	p.PerResource = max(s.o.Retention.EventsOfResource, 0)
	return repeat(dryRun, func() (int, error) { return s.store.PruneEvents(ctx, p) })
}

func (s *sweeper) effects(ctx context.Context, now time.Time, dryRun bool) (int, error) {
	keep := s.o.Retention.Events
	if keep < 0 {
		return 0, nil
	}
	p := controller.EffectPruning{Before: now.Add(-keep), Limit: sweepBatch, DryRun: dryRun}
	return repeat(dryRun, func() (int, error) { return s.store.PruneEffects(ctx, p) })
}

func (s *sweeper) deliveries(ctx context.Context, now time.Time, dryRun bool) (int, error) {
	keep := s.o.Retention.Events
	if keep < 0 {
		return 0, nil
	}
	p := controller.DeliveryPruning{Before: now.Add(-keep), Limit: sweepBatch, DryRun: dryRun}
	return repeat(dryRun, func() (int, error) { return s.store.PruneDeliveries(ctx, p) })
}

// repeat calls an operation of the store until there is nothing left for it. A dry
// run would find the same again, so it counts one batch at most.
func repeat(dryRun bool, operation func() (int, error)) (sum int, err error) {
	for {
		n, err := operation()
		sum += n
		if err != nil || n < sweepBatch || dryRun {
			return sum, err
		}
	}
}
