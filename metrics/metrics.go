// Package metrics counts for Prometheus what a controller.Observer hears and
// what the queue of a store holds. The names have the shapes of
// controller-runtime and of the workqueue of Kubernetes, so that dashboards and
// alerts for those need only another prefix.
//
// Spec: Observability. docs/observability.md lists every series.
package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/clock"
	"piworkflows/controller"
)

// Prefix begins the name of every series.
const Prefix = "pi_workflows_"

// Backlogger is what the collectors need of a store; every controller.Store is
// one. It is asked for each controller whenever the metrics are read.
type Backlogger interface {
	Backlog(ctx context.Context, controllers []string) (controller.Backlog, error)
}

// Options say what is counted. Definitions and Store are required.
type Options struct {
	// Definitions are the controllers; all their series begin at zero. See also
	// Metrics.SetDefinitions.
	Definitions []*controller.Definition
	Store       Backlogger
	// Workers is that of the manager; controller.DefaultWorkers if zero.
	Workers int
	// Clock measures passes that have not ended; clock.System if nil.
	Clock clock.Clock
}

// Metrics is a controller.Observer that counts. It never blocks for long and is
// safe for concurrent use.
type Metrics struct {
	passes
	outside
	sources sources
	active  *active
	backlog *backlog
	workers int
}

var _ controller.Observer = (*Metrics)(nil)

// Register makes the collectors and adds them to a registry; the result is to
// be the observer of the host or manager. An error, of the registry, says that
// some of the series are there already.
func Register(reg prometheus.Registerer, o Options) (*Metrics, error) {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	m := &Metrics{
		passes: newPasses(), outside: newOutside(), sources: newSources(), active: newActive(o.Clock),
		backlog: newBacklog(o.Store, o.Clock), workers: cmp.Or(o.Workers, controller.DefaultWorkers),
	}
	m.outside.begin()
	m.SetDefinitions(o.Definitions...)
	collectors := slices.Concat(m.passes.collectors(), m.outside.collectors(), m.sources.collectors())
	for _, c := range append(collectors, m.active, m.backlog) {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register the metrics: %w", err)
		}
	}
	return m, nil
}

// SetDefinitions says which controllers there are from now on. The series of those
// that are new begin at zero. What was counted of one that is gone stays, but nothing
// of it is asked of the store any more.
func (m *Metrics) SetDefinitions(definitions ...*controller.Definition) {
	m.passes.begin(definitions, m.workers)
	m.outside.know(definitions)
	m.sources.begin(definitions)
	m.active.begin(definitions)
	m.backlog.names.Store(new(namesOf(definitions)))
}

func namesOf(definitions []*controller.Definition) []string {
	names := make([]string, len(definitions))
	for i, d := range definitions {
		names[i] = d.Name
	}
	return names
}

// Observe implements controller.Observer.
func (m *Metrics) Observe(r controller.Record) {
	switch r := r.(type) {
	case controller.PassStarted:
		m.active.start(r.PassInfo)
		m.passes.started(r)
	case controller.PassEnded:
		m.active.end(r.PassInfo)
		m.passes.ended(r)
	case controller.PassAbandoned:
		m.passes.abandoned.WithLabelValues(r.Controller).Inc()
	case controller.PassReturned:
		m.passes.abandoned.WithLabelValues(r.Controller).Dec()
	case controller.EffectChanged:
		m.outside.effects.WithLabelValues(r.Controller, string(r.State)).Inc()
	case controller.ChildChanged:
		m.outside.children.WithLabelValues(string(r.State)).Inc()
	case controller.ChildLost:
		m.outside.childrenLost.Inc()
	case controller.StoreFailed:
		m.outside.storeErrors.Inc()
	default:
		m.observeSource(r)
	}
}

func (m *Metrics) observeSource(r controller.Record) {
	switch r := r.(type) {
	case controller.SourceChanged:
		m.sources.changed(r)
	case controller.SourceDelivered:
		m.sources.delivered(r)
	case controller.SourceRefused:
		m.sources.rejected(r)
	case controller.SourceFailed:
		m.sources.errors.WithLabelValues(r.Controller, r.Source).Inc()
	}
}

// passBuckets are those of controller-runtime: 5 ms to a minute.
var passBuckets = []float64{
	0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
	1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
}

// queueBuckets are those of the workqueue: 1 µs to 1000 s by tens, without those
// that our store, which keeps milliseconds, could never fill.
var queueBuckets = prometheus.ExponentialBuckets(0.001, 10, 7)

// scrapeTimeout bounds the questions to the store for one reading.
const scrapeTimeout = 5 * time.Second
