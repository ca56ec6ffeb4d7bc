package controller

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"piworkflows/clock"
	"piworkflows/lease"
	"piworkflows/secret"
)

// DefaultStopGrace is how long a stop waits for passes that have been
// cancelled.
const DefaultStopGrace = 10 * time.Second

// ManagerOptions say what a Manager runs and within which bounds. Store and
// Definitions are required; everything else has a default.
type ManagerOptions struct {
	Store       Store
	Definitions []*Definition
	// Scheduler resolves workflows for child runs. Without one, asking for a
	// child run is ErrNoScheduler.
	Scheduler Scheduler
	// Clock measures deadlines, delays and durations; clock.System if nil. The
	// store owns the clock of its leases.
	Clock clock.Clock
	// Logger receives the records of Log, and what reconcilers say by Pass.Log;
	// nothing is logged if nil.
	Logger *slog.Logger
	// Observer hears of every pass, effect and child run; nobody does if nil.
	Observer Observer
	// Workers bounds the passes at once over all controllers; DefaultWorkers if
	// zero.
	Workers int
	// Concurrency bounds the passes at once of single controllers and wins over
	// their definitions. A controller named in neither is bounded by Workers.
	Concurrency map[string]int
	// Lease is how long a claim holds without renewal, Renewal the time between
	// renewals; lease.DefaultDuration and lease.DefaultRenewal if zero. Renewal
	// must be shorter than Lease.
	Lease, Renewal time.Duration
	// StopGrace is how long Run waits for cancelled passes before it leaves
	// them; DefaultStopGrace if zero.
	StopGrace time.Duration
	// Random returns numbers in [0, 1) for the jitter of Backoff.
	Random func() float64
	// Backoff is the delay after errors of a key.
	Backoff Backoff
}

func (o ManagerOptions) withDefaults() ManagerOptions {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger != nil {
		o.Logger = slog.New(secret.Logs(o.Logger.Handler()))
	}
	o.Observer = o.observers()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Store != nil {
		o.Store = Redacting(o.Store)
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Lease = cmp.Or(o.Lease, lease.DefaultDuration)
	o.Renewal = cmp.Or(o.Renewal, lease.DefaultRenewal)
	o.StopGrace = cmp.Or(o.StopGrace, DefaultStopGrace)
	o.Backoff = o.Backoff.orDefault()
	return o
}

// observers are the log and the observer, as far as they are there.
func (o ManagerOptions) observers() Observers {
	var list Observers
	if o.Logger != nil {
		list = append(list, Log(o.Logger))
	}
	if o.Observer != nil {
		list = append(list, o.Observer)
	}
	return list
}

// check lists everything that is wrong with options that have their defaults.
func (o ManagerOptions) check(known *Registry) error {
	var problems []error
	if o.Store == nil {
		problems = append(problems, errors.New("no store: open one, for example with store/sqlite"))
	}
	if o.Workers < 0 {
		problems = append(problems, fmt.Errorf("%d workers: the number must be positive", o.Workers))
	}
	if o.Lease < 0 || o.Renewal < 0 || o.Renewal >= o.Lease {
		problems = append(problems, fmt.Errorf(
			"lease %s, renewed every %s: both must be positive and the renewal shorter", o.Lease, o.Renewal))
	}
	if o.StopGrace < 0 {
		problems = append(problems, fmt.Errorf("stop grace %s is negative", o.StopGrace))
	}
	problems = append(problems, o.Backoff.check())
	return errors.Join(append(problems, o.checkConcurrency(known)...)...)
}

func (o ManagerOptions) checkConcurrency(known *Registry) []error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(o.Concurrency)) {
		if _, err := known.Get(name); err != nil {
			problems = append(problems, fmt.Errorf("concurrency: %w", err))
		}
		if limit := o.Concurrency[name]; limit <= 0 {
			problems = append(problems, fmt.Errorf("concurrency of %.80q is %d: it must be positive", name, limit))
		}
	}
	return problems
}

// limits returns how many passes of each controller may run at once.
func (o ManagerOptions) limits(r *Registry) map[string]int {
	limits := map[string]int{}
	for name, d := range r.known.Load().byName {
		limits[name] = o.limit(d)
	}
	return limits
}

func (o ManagerOptions) limit(d *Definition) int {
	return min(o.Workers, cmp.Or(o.Concurrency[d.Name], d.Concurrency, o.Workers))
}
