package metrics

import (
	"cmp"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/controller"
)

// passes count what the passes of each controller did.
type passes struct {
	total, failed, terminal, panicked, lost *prometheus.CounterVec
	seconds                                 *prometheus.HistogramVec
	limit, abandoned                        *prometheus.GaugeVec
	adds, retries                           *prometheus.CounterVec
	waited, worked                          *prometheus.HistogramVec
}

// byController is the label of all series of a controller.
const byController = "controller"

func newPasses() passes {
	return passes{
		total: counter("controller_reconcile_total", "Passes that ended, by result.", byController, "result"),
		failed: counter("controller_reconcile_errors_total",
			"Passes that ended with an error.", byController),
		terminal: counter("controller_terminal_reconcile_errors_total",
			"Passes that ended with an error that is not tried again.", byController),
		panicked: counter("controller_reconcile_panics_total", "Passes that ended with a panic.", byController),
		lost: counter("controller_claims_lost_total",
			"Passes whose claim was gone before their end could be stored.", byController),
		seconds: histogram("controller_reconcile_time_seconds", "Length of a pass.", passBuckets, byController),
		limit:   gauge("controller_max_concurrent_reconciles", "Passes that may run at once.", byController),
		abandoned: gauge("controller_abandoned_reconcilers",
			"Reconcilers that have not returned although their pass has ended.", byController),
		adds: counter("workqueue_adds_total",
			"Keys that came out of the queue; wake-ups of a key that waits count once.", byController),
		retries: counter("workqueue_retries_total",
			"Keys that came out of the queue after an error or a retry.", byController),
		waited: histogram("workqueue_queue_duration_seconds",
			"How long a key was due before its pass began.", queueBuckets, byController),
		worked: histogram("workqueue_work_duration_seconds", "How long a key was worked on.", queueBuckets, byController),
	}
}

func (p passes) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		p.total, p.failed, p.terminal, p.panicked, p.lost, p.seconds, p.limit, p.abandoned, p.adds, p.retries, p.waited, p.worked,
	}
}

// begin makes every series of every controller, so that a rate has a beginning.
func (p passes) begin(definitions []*controller.Definition, workers int) {
	for _, d := range definitions {
		for _, result := range results {
			p.total.WithLabelValues(d.Name, result)
		}
		for _, c := range []*prometheus.CounterVec{p.failed, p.terminal, p.panicked, p.lost, p.adds, p.retries} {
			c.WithLabelValues(d.Name)
		}
		for _, h := range []*prometheus.HistogramVec{p.seconds, p.waited, p.worked} {
			h.WithLabelValues(d.Name)
		}
		p.abandoned.WithLabelValues(d.Name)
		p.limit.WithLabelValues(d.Name).Set(float64(min(workers, cmp.Or(d.Concurrency, workers))))
	}
}

func (p passes) started(r controller.PassStarted) {
	p.adds.WithLabelValues(r.Controller).Inc()
	p.waited.WithLabelValues(r.Controller).Observe(r.Waited.Seconds())
	if r.Again {
		p.retries.WithLabelValues(r.Controller).Inc()
	}
}

func (p passes) ended(r controller.PassEnded) {
	p.total.WithLabelValues(r.Controller, result(r)).Inc()
	p.seconds.WithLabelValues(r.Controller).Observe(r.Duration.Seconds())
	p.worked.WithLabelValues(r.Controller).Observe(r.Duration.Seconds())
	if r.Outcome == controller.PassLost {
		p.lost.WithLabelValues(r.Controller).Inc()
	}
	if r.Outcome != controller.PassFailed {
		return
	}
	p.failed.WithLabelValues(r.Controller).Inc()
	if _, ok := errors.AsType[*controller.TerminalError](r.Err); ok {
		p.terminal.WithLabelValues(r.Controller).Inc()
	}
	if _, ok := errors.AsType[*controller.PanicError](r.Err); ok {
		p.panicked.WithLabelValues(r.Controller).Inc()
	}
}

// The results that controller-runtime knows; other outcomes keep our names.
const (
	resultSuccess      = "success"
	resultError        = "error"
	resultRequeue      = "requeue"
	resultRequeueAfter = "requeue_after"
)

var results = []string{
	resultSuccess, resultError, resultRequeue, resultRequeueAfter, string(controller.PassConflict),
	string(controller.PassReleased), string(controller.PassLost), string(controller.PassUnrecorded),
}

func result(r controller.PassEnded) string {
	switch r.Outcome {
	case controller.PassSettled, controller.PassDeleted:
		return resultSuccess
	case controller.PassFailed:
		return resultError
	case controller.PassRequeued:
		if r.After > 0 {
			return resultRequeueAfter
		}
		return resultRequeue
	default:
		return string(r.Outcome)
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: Prefix + name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: Prefix + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: Prefix + name, Help: help, Buckets: buckets}, labels)
}
