package host

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/lease"
	"piworkflows/metrics"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/secret"
)

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
	// FS is the file layer under the records of runs; the operating system's by default.
	FS *durable.FS
	// Observer hears of every pass, effect and child run beside Logger, which has
	// the records of controller.Log; nobody does if nil.
	Observer controller.Observer
	// Retention says what a host removes when it is old; the defaults are on.
	Retention Retention
	// Agents does the agent steps of every run; without it they fail when they are
	// reached. Those of child runs wait if their controller has had too many in an
	// hour.
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

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = slog.New(secret.Logs(o.Logger.Handler()))
	if o.FS == nil {
		o.FS = durable.OS()
	}
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

func (o Options) manager(store Store, more controller.Observer) (*controller.Manager, error) {
	return controller.NewManager(controller.ManagerOptions{
		Store:       store, // which it wraps by itself, with all that the store is able to do
		Definitions: o.Catalog.definitions(),
		Scheduler:   scheduler{o.Catalog, o.Clock},
		Clock:       o.Clock,
		Logger:      o.Logger,
		Observer:    o.heard(more),
		Workers:     o.Workers,
		Lease:       o.Lease,
		Renewal:     o.Lease / renewals,
	})
}

// counted are the options of a host that counts, if somebody can ask for it, and
// what answers them.
func (o Options) counted(store Store) (Options, *metrics.Metrics, http.Handler, error) {
	if o.Listen.Addr == "" {
		return o, nil, http.NotFoundHandler(), nil
	}
	m, series, err := metrics.Handler(metrics.Options{
		Definitions: o.Catalog.definitions(), Store: store, Workers: o.Workers, Clock: o.Clock,
	})
	if err != nil {
		return o, nil, nil, err
	}
	o.Observer = o.heard(m)
	return o, m, series, nil
}

// observers hear what the host has to tell beside the manager.
func (o Options) observers() controller.Observers {
	return o.heard(controller.Log(o.Logger))
}

// heard are an observer and the one of the caller, if there is one.
func (o Options) heard(first controller.Observer) controller.Observers {
	list := controller.Observers{first}
	if o.Observer != nil {
		list = append(list, o.Observer)
	}
	return list
}

func (o Options) engine() engine.Options {
	return engine.Options{
		Clock: o.Clock, FS: o.FS, RunsDir: o.Runs, SpoolDir: o.Spool, Logger: o.Logger, Agents: o.Agents, Notifier: o.Notifier,
		Printed: o.Printed, ProcessDir: o.processes(),
	}
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
