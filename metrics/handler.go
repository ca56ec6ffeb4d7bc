package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds the readings at once: each asks the store.
const maxScrapes = 4

// Handler is Register for who has no registry: the handler answers with all series
// in the format that Prometheus reads.
func Handler(o Options) (*Metrics, http.Handler, error) {
	registry := prometheus.NewRegistry()
	m, err := Register(registry, o)
	if err != nil {
		return nil, nil, err
	}
	return m, promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}), nil
}
