package host

import (
	"cmp"
	"time"
)

// Forever keeps what a field of Retention is about.
const Forever = -1

// The defaults of Retention.
const (
	DefaultKeepEvents       = 30 * 24 * time.Hour
	DefaultEventsOfResource = 200
	DefaultKeepRuns         = 90 * 24 * time.Hour
	DefaultRunBytes         = 10 << 30
)

// Retention says how long is kept what nobody needs any more. A field that is zero
// takes its default, Forever keeps everything. What has not come to its end stays
// whatever its age: resources, their queue rows, effects and child requests, and
// runs that go on or wait. Completed resources go only where their controller says
// so, with controller.Definition.CompletedTTL.
type Retention struct {
	// Events bounds the age of events, of the attempts and texts of effects that
	// have ended, and of the IDs of deliveries.
	Events time.Duration
	// EventsOfResource bounds the events of one resource that are older than an
	// hour.
	EventsOfResource int
	// Runs bounds the age, since its end, of a run that is over, with its bundle;
	// RunBytes the bytes of all those bundles together: beyond it the oldest go.
	Runs     time.Duration
	RunBytes int64
}

func (r Retention) withDefaults() Retention {
	r.Events = cmp.Or(r.Events, DefaultKeepEvents)
	r.EventsOfResource = cmp.Or(r.EventsOfResource, DefaultEventsOfResource)
	r.Runs = cmp.Or(r.Runs, DefaultKeepRuns)
	r.RunBytes = cmp.Or(r.RunBytes, DefaultRunBytes)
	return r
}

const (
	// sweepEvery is the time between two sweeps of a host.
	sweepEvery = time.Hour
	// eventSpare keeps the events that somebody may be reading just now.
	eventSpare = time.Hour
	// sweepBatch bounds one call of the store.
	sweepBatch = 10_000
)
