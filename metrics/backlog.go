package metrics

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/clock"
)

// backlog reads the queue when the metrics are read: other processes change it,
// so no count of ours could be right.
type backlog struct {
	store                           Backlogger
	clock                           clock.Clock
	names                           atomic.Pointer[[]string]
	depth, delayed, claimed, oldest *prometheus.Desc
	unfinishedRuns, up              *prometheus.Desc
}

func newBacklog(s Backlogger, c clock.Clock) *backlog {
	return &backlog{
		store: s, clock: c,
		depth:   desc("workqueue_depth", "Keys that are due and wait for a worker."),
		delayed: desc("workqueue_delayed", "Keys that wait for their time."),
		claimed: desc("workqueue_claimed", "Keys that some process works on."),
		oldest:  desc("workqueue_oldest_pending_age_seconds", "How long the key that waits the longest has been due."),
		unfinishedRuns: prometheus.NewDesc(Prefix+"child_runs_unfinished",
			"Child runs of the project that are queued or running.", nil, nil),
		up: prometheus.NewDesc(Prefix+"store_up", "1 if the store answered when the metrics were read.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.depth, b.delayed, b.claimed, b.oldest, b.unfinishedRuns, b.up} {
		out <- d
	}
}

var errScrapeSlow = errors.New("the store did not answer in time for the metrics")

// Collect implements prometheus.Collector. Without an answer of the store it
// leaves its series out instead of showing a lie.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := clock.WithTimeoutCause(context.Background(), b.clock, scrapeTimeout, errScrapeSlow)
	defer cancel()
	if err := b.collect(ctx, out); err != nil {
		value(out, b.up, 0)
		return
	}
	value(out, b.up, 1)
}

func (b *backlog) collect(ctx context.Context, out chan<- prometheus.Metric) error {
	for _, name := range *b.names.Load() {
		left, err := b.store.Backlog(ctx, []string{name})
		if err != nil {
			return err
		}
		value(out, b.depth, float64(left.Ready), name)
		value(out, b.delayed, float64(left.Delayed), name)
		value(out, b.claimed, float64(left.Claimed), name)
		value(out, b.oldest, left.Waiting.Seconds(), name)
	}
	left, err := b.store.Backlog(ctx, nil)
	if err != nil {
		return err
	}
	value(out, b.unfinishedRuns, float64(left.Runs))
	return nil
}
