package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/clock"
	"piworkflows/controller"
)

// active knows the passes that run, and how long they have.
type active struct {
	clock                        clock.Clock
	workers, unfinished, longest *prometheus.Desc

	mu sync.Mutex
	// began is when each pass began, by controller and reconcile ID.
	began map[string]map[string]time.Time
}

func newActive(c clock.Clock) *active {
	return &active{
		clock:   c,
		workers: desc("controller_active_workers", "Passes that run."),
		unfinished: desc("workqueue_unfinished_work_seconds",
			"How long the passes that run have, added up. One that grows steadily is stuck."),
		longest: desc("workqueue_longest_running_processor_seconds", "How long the oldest pass that runs has."),
		began:   map[string]map[string]time.Time{},
	}
}

// begin makes room for the passes of every controller.
func (a *active) begin(definitions []*controller.Definition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range definitions {
		if a.began[d.Name] == nil {
			a.began[d.Name] = map[string]time.Time{}
		}
	}
}

func (a *active) start(p controller.PassInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if running := a.began[p.Controller]; running != nil {
		running[p.ReconcileID] = a.clock.Now()
	}
}

func (a *active) end(p controller.PassInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.began[p.Controller], p.ReconcileID)
}

// Describe implements prometheus.Collector.
func (a *active) Describe(out chan<- *prometheus.Desc) {
	out <- a.workers
	out <- a.unfinished
	out <- a.longest
}

// Collect implements prometheus.Collector.
func (a *active) Collect(out chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	for name, running := range a.began {
		var sum, longest time.Duration
		for _, began := range running {
			sum += now.Sub(began)
			longest = max(longest, now.Sub(began))
		}
		value(out, a.workers, float64(len(running)), name)
		value(out, a.unfinished, sum.Seconds(), name)
		value(out, a.longest, longest.Seconds(), name)
	}
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(Prefix+name, help, []string{byController}, nil)
}

func value(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
