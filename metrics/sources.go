package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/controller"
)

// sources count what comes in from outside. They belong to this process; the
// counts in the store go on from one host to the next.
type sources struct {
	deliveries, duplicates, keys, refused, errors, restarts *prometheus.CounterVec
	up, degraded, seen                                      *prometheus.GaugeVec
}

// bySource is the second label of all series of a source.
const bySource = "source"

// The results of a key that was delivered.
const (
	keyEnqueued = "enqueued"
	keyUnknown  = "unknown"
)

func newSources() sources {
	return sources{
		deliveries: counter("source_deliveries_total", "Deliveries that were stored.", byController, bySource),
		duplicates: counter("source_duplicates_total", "Deliveries that had been seen before.", byController, bySource),
		keys: counter("source_keys_total", "Keys that were delivered, by whether there is such a resource.",
			byController, bySource, "result"),
		refused:  counter("source_refused_total", "What was not let in.", byController, bySource),
		errors:   counter("source_errors_total", "Errors of the source, and deliveries that the store did not take.", byController, bySource),
		restarts: counter("source_restarts_total", "How often the source ended and was started again.", byController, bySource),
		up:       gauge("source_up", "1 if the source runs.", byController, bySource),
		degraded: gauge("source_degraded", "1 if the source runs and does not work as it should.", byController, bySource),
		seen: gauge("source_last_seen_timestamp_seconds",
			"When something came from the source last; 0 if nothing has since the host began.", byController, bySource),
	}
}

func (s sources) counters() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{s.deliveries, s.duplicates, s.refused, s.errors, s.restarts}
}

func (s sources) gauges() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{s.up, s.degraded, s.seen}
}

func (s sources) collectors() []prometheus.Collector {
	list := []prometheus.Collector{s.keys}
	for _, c := range s.counters() {
		list = append(list, c)
	}
	for _, g := range s.gauges() {
		list = append(list, g)
	}
	return list
}

// begin makes every series of every source.
func (s sources) begin(definitions []*controller.Definition) {
	for _, d := range definitions {
		for _, source := range d.Sources {
			for _, c := range s.counters() {
				c.WithLabelValues(d.Name, source.Name())
			}
			for _, g := range s.gauges() {
				g.WithLabelValues(d.Name, source.Name())
			}
			for _, result := range []string{keyEnqueued, keyUnknown} {
				s.keys.WithLabelValues(d.Name, source.Name(), result)
			}
		}
	}
}

func (s sources) changed(r controller.SourceChanged) {
	s.up.WithLabelValues(r.Controller, r.Source).Set(one(r.State.Runs()))
	s.degraded.WithLabelValues(r.Controller, r.Source).Set(one(r.State == controller.SourceDegraded))
	if r.State == controller.SourceRestarting {
		s.restarts.WithLabelValues(r.Controller, r.Source).Inc()
	}
}

func (s sources) delivered(r controller.SourceDelivered) {
	s.seen.WithLabelValues(r.Controller, r.Source).Set(float64(r.At.Unix()))
	if r.Result.Duplicate {
		s.duplicates.WithLabelValues(r.Controller, r.Source).Inc()
		return
	}
	s.deliveries.WithLabelValues(r.Controller, r.Source).Inc()
	s.keys.WithLabelValues(r.Controller, r.Source, keyEnqueued).Add(float64(r.Result.Enqueued))
	s.keys.WithLabelValues(r.Controller, r.Source, keyUnknown).Add(float64(r.Result.Unknown))
}

func (s sources) rejected(r controller.SourceRefused) {
	s.seen.WithLabelValues(r.Controller, r.Source).Set(float64(r.At.Unix()))
	s.refused.WithLabelValues(r.Controller, r.Source).Inc()
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
