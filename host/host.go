// Package host is the one process that owns a store: it runs the controllers,
// the child runs over the engine and the sources, and stops cleanly. It is the
// only room that joins controllers and the engine.
//
// Spec: controller runtime, Sources and workers; design: Liveness of owners.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/lease"
	"piworkflows/metrics"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
	"piworkflows/secret"
	"piworkflows/store/sqlite"
)

// Store is what a host needs of a store: resources and runs in one.
type Store interface {
	controller.Store
	runqueue.Store
}

// Options say what a host runs and where.
type Options struct {
	Paths
	// Catalog has the definitions; required.
	Catalog *Catalog
	// Workers bounds the passes at once; zero is controller.DefaultWorkers.
	Workers int
	// ChildRuns bounds the child runs at once; zero is DefaultRuns.
	ChildRuns int
	// DetachedRuns bounds the detached runs at once; zero is DefaultRuns.
	DetachedRuns int
	// Clock and Logger default to the machine's clock and to silence.
	Clock  clock.Clock
	Logger *slog.Logger
	// Observer hears of every pass, effect and child run beside Logger, which has
	// the records of controller.Log; nobody does if nil.
	Observer controller.Observer
	// Retention says what a host removes when it is old; the defaults are on.
	Retention Retention
	// Agents does the agent steps of every run; without it they fail when they are
	// reached.
	Agents engine.AgentExecutor
	// Notifier takes what notify nodes send; without one they fail when they are
	// reached.
	Notifier engine.Notifier
	// Notify are hooks that tell people of what needs them.
	Notify []NotifyHook
	// Observe, if set, hears of every step of every run, in order within a run.
	// It must return quickly.
	Observe func(RunEvent)
	// Printed, if set, hears of what the commands and agents of every run print,
	// while they print it. It must return quickly.
	Printed func(runID string, p spool.Piece)
	// Control, if set, is given each interactive run once it goes on, so that it
	// can be paused, parked and cancelled. It must return quickly.
	Control func(*engine.Run)
	// Listen says where the host answers over HTTP; nowhere by default.
	Listen Listen
	// Lease is how long what this process has claimed is its own without a sign of
	// life; lease.DefaultDuration if zero. It renews in a third of that. It matters
	// only for a process that lives and does nothing: what a dead one had claimed is
	// free at once.
	Lease time.Duration
	// Drain bounds how long a stop takes; DefaultDrain if zero.
	Drain time.Duration
}

// DefaultDrain is longer than what a stop waits for by itself: passes
// (controller.DefaultStopGrace) and commands (engine.DefaultSettleGrace).
const DefaultDrain = 30 * time.Second

// RunEvent is one recorded transition of a run.
type RunEvent struct {
	RunID, Workflow string
	Event           runbundle.Event
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
	clock    clock.Clock
	log      *slog.Logger
	health   *health
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
// has it, for two seconds or more. It begins to listen, if it is to: a *ListenError
// or *UnguardedError says why it cannot. The store stays the caller's to close,
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
	o, series, err := o.counted(store)
	if err != nil {
		return nil, err
	}
	manager, err := o.manager(store)
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
	health := newHealth(store, o.Clock)
	endpoint, err := newEndpoint(ctx, o.Listen, routes(o.Listen.Token, health, series, o.Catalog.hook), o.Logger)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	store = redacted(store)
	o.sweep()
	o.endLeftovers(ctx, false)
	return &Host{
		store:   store,
		manager: manager,
		runner: &runner{
			store: store, engine: engine.New(o.engine()), catalog: o.Catalog, clock: o.Clock,
			log: o.Logger, records: o.observers(), runs: o.Runs, root: root, limit: o.ChildRuns, observe: o.Observe,
			lasts:        o.Lease,
			endLeftovers: func(ctx context.Context) { o.endLeftovers(ctx, false) },
		},
		sources:  sources{store, o.Catalog, o.Clock, o.observers()},
		detached: newDetached(o, store, root),
		sweeper:  newSweeper(o, store),
		catalog:  o.Catalog,
		clock:    o.Clock,
		log:      o.Logger,
		heralds:  o.heralds(store),
		health:   health,
		endpoint: endpoint,
		drain:    o.Drain,
		turn:     turn{store: store, clock: o.Clock, log: o.Logger, lasts: o.Lease, token: lease.NewToken()},
		abandon:  func(ctx context.Context) { o.endLeftovers(ctx, true) },
		close:    sync.OnceValue(func() error { return errors.Join(endpoint.close(), unlock()) }),
	}, nil
}

func (o Options) manager(store Store) (*controller.Manager, error) {
	return controller.NewManager(controller.ManagerOptions{
		Store:       store, // which it wraps by itself, with all that the store is able to do
		Definitions: o.Catalog.definitions(),
		Scheduler:   scheduler{o.Catalog, o.Clock},
		Clock:       o.Clock,
		Logger:      o.Logger,
		Observer:    o.Observer,
		Workers:     o.Workers,
		Lease:       o.Lease,
		Renewal:     o.Lease / renewals,
	})
}

// counted are the options of a host that counts, if somebody can ask for it, and
// what answers them.
func (o Options) counted(store Store) (Options, http.Handler, error) {
	if o.Listen.Addr == "" {
		return o, http.NotFoundHandler(), nil
	}
	m, series, err := metrics.Handler(metrics.Options{
		Definitions: o.Catalog.definitions(), Store: store, Workers: o.Workers, Clock: o.Clock,
	})
	if err != nil {
		return o, nil, err
	}
	list := controller.Observers{m}
	if o.Observer != nil {
		list = append(list, o.Observer)
	}
	o.Observer = list
	return o, series, nil
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = slog.New(secret.Logs(o.Logger.Handler()))
	if o.ChildRuns == 0 {
		o.ChildRuns = DefaultRuns
	}
	if o.DetachedRuns == 0 {
		o.DetachedRuns = DefaultRuns
	}
	if o.Lease == 0 {
		o.Lease = lease.DefaultDuration
	}
	if o.Drain == 0 {
		o.Drain = DefaultDrain
	}
	o.Retention = o.Retention.withDefaults()
	return o
}

// sweep removes what runs printed whose processes were killed. Nobody needs it,
// so that it cannot be removed keeps no host from starting.
func (o Options) sweep() {
	if o.Spool == "" {
		return
	}
	if err := spool.Sweep(o.Spool); err != nil {
		o.Logger.Warn("output that killed runs left is not removed", "error", err)
	}
}

// check refuses what the parts of a host do not check themselves.
func (o Options) check() error {
	if o.Catalog == nil {
		return errors.New("a host without definitions: compile them and give them as Options.Catalog")
	}
	if o.ChildRuns < 0 || o.DetachedRuns < 0 {
		return fmt.Errorf("%d child runs and %d detached runs at once: the numbers must be positive", o.ChildRuns, o.DetachedRuns)
	}
	return nil
}

// observers hear what the host has to tell beside the manager.
func (o Options) observers() controller.Observers {
	list := controller.Observers{controller.Log(o.Logger)}
	if o.Observer != nil {
		list = append(list, o.Observer)
	}
	return list
}

func (o Options) engine() engine.Options {
	return engine.Options{
		Clock: o.Clock, RunsDir: o.Runs, SpoolDir: o.Spool, Logger: o.Logger, Agents: o.Agents, Notifier: o.Notifier,
		Printed: o.Printed, ProcessDir: o.processes(),
	}
}

// Addr is where the host answers over HTTP; empty if it does not.
func (h *Host) Addr() string { return h.endpoint.addr() }

// Ready says whether the host does its work, and if not, why.
func (h *Host) Ready(ctx context.Context) Readiness { return h.health.look(ctx) }

// Close releases the host lock and stops listening. A second call does nothing
// more.
func (h *Host) Close() error { return h.close() }
