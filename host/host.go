// Package host is the one process that owns a store: it runs the controllers,
// the child runs over the engine and the sources, and stops cleanly. It is the
// only room that joins controllers and the engine.
//
// Spec: controller runtime, Sources and workers; design: Liveness of owners.
package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/metrics"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// Store is what a host needs of a store: resources and runs in one.
type Store interface {
	controller.Store
	runqueue.Store
}

// Host is a host that holds its lock. Run or RunOnce it once, then Close it.
type Host struct {
	store   Store
	manager *controller.Manager
	runner  *runner
	// detached has the runs that belong to no terminal.
	detached *detached
	sources  sources
	sweeper  *sweeper
	catalog  *Catalog
	passes   *passCount
	giveUp   *giveUp
	clock    clock.Clock
	log      *slog.Logger
	health   *health
	// counts are nil if nobody can ask for them.
	counts *metrics.Metrics
	// heralds serve the notify hooks.
	heralds []*herald
	// reloading keeps definitions that change at once from overtaking each other.
	reloading sync.Mutex
	// endpoint is nil if the host does not listen.
	endpoint *endpoint
	drain    time.Duration
	turn     turn
	// abandon ends the commands that a stop did not end in time.
	abandon func(context.Context)
	close   func() error
}

// OpenStore opens the store of a project, and creates it if there is none.
func OpenStore(ctx context.Context, p Paths, c clock.Clock, log *slog.Logger) (*sqlite.Store, error) {
	scope, err := sqlite.Scope(p.Project)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Path: p.Store, Scope: scope, Clock: c, Logger: log})
}

// OpenReader opens the store of a project for looking: nothing of it is written,
// and nothing is freed. A store that is missing is an fs.ErrNotExist.
func OpenReader(ctx context.Context, p Paths, c clock.Clock, log *slog.Logger) (*sqlite.Store, error) {
	scope, err := sqlite.Scope(p.Project)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Path: p.Store, Scope: scope, Clock: c, Logger: log, ReadOnly: true})
}

// Join makes a host that works beside others, as a session does: it takes no host
// lock, and runs the workers of the project only while no other process does. Its
// runs in this process, and what it is asked for, do not depend on that.
//
// Spec: Package and Pi integration (the embedded runner does not take the lock).
func Join(ctx context.Context, o Options, store Store) (*Host, error) {
	return newHost(ctx, o, store, func(context.Context, Options) (func() error, error) {
		return func() error { return nil }, nil
	})
}

// New takes the host lock beside the store; a *HeldError says that another host
// has it, for two seconds or more. It begins to listen, if it is to: an *InvalidAddressError,
// *ListenError or *UnguardedError says why it cannot. The store stays the caller's to close,
// after the host.
func New(ctx context.Context, o Options, store Store) (*Host, error) {
	return newHost(ctx, o, store, func(ctx context.Context, o Options) (func() error, error) {
		lock, err := lockHost(ctx, o.Paths.Store, o.Clock)
		if err != nil {
			return nil, err
		}
		return lock.release, nil
	})
}

func newHost(
	ctx context.Context, o Options, store Store, lock func(context.Context, Options) (unlock func() error, err error),
) (*Host, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := checkNotify(ctx, o.Notify); err != nil {
		return nil, err
	}
	o, counts, series, err := o.counted(store)
	if err != nil {
		return nil, err
	}
	passes, giveUp := &passCount{}, &giveUp{}
	manager, err := o.manager(store, controller.Observers{passes, giveUp})
	if err != nil {
		return nil, err
	}
	root, err := rootID(o.Runs)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, o)
	if err != nil {
		return nil, err
	}
	health := newHealth(store, o.Clock, o.ground())
	endpoint, err := newEndpoint(ctx, o.Listen, routes(o.Listen.Token, health, series, o.Catalog.hook), o.Logger)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	store = redacted(store)
	o.sweep()
	o.endLeftovers(ctx, false)
	return &Host{
		store:    store,
		manager:  manager,
		passes:   passes,
		giveUp:   giveUp,
		runner:   newRunner(o, store, root, giveUp.hear),
		sources:  sources{store, o.Catalog, o.Clock, o.observers()},
		detached: newDetached(o, store, root, giveUp.hear),
		sweeper:  newSweeper(o, store),
		catalog:  o.Catalog,
		clock:    o.Clock,
		log:      o.Logger,
		heralds:  o.heralds(store),
		health:   health,
		counts:   counts,
		endpoint: endpoint,
		drain:    o.Drain,
		turn:     turn{store: store, clock: o.Clock, log: o.Logger, lasts: o.Lease, token: lease.NewToken(), failed: giveUp.hear},
		abandon:  func(ctx context.Context) { o.endLeftovers(ctx, true) },
		close:    sync.OnceValue(func() error { return errors.Join(endpoint.close(), unlock()) }),
	}, nil
}

// Addr is where the host answers over HTTP; empty if it does not.
func (h *Host) Addr() string { return h.endpoint.addr() }

// Ready says whether the host does its work, and if not, why.
func (h *Host) Ready(ctx context.Context) Readiness { return h.health.look(ctx) }

// Close releases the host lock and stops listening. A second call does nothing
// more.
func (h *Host) Close() error { return h.close() }
