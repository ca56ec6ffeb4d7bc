package controller

import "time"

// SourceState says how a source is. docs/state-machines.md draws the states.
type SourceState string

// The states of a source.
const (
	SourceRunning SourceState = "running"
	// SourceDegraded is a source that runs and said that it does not work as it
	// should.
	SourceDegraded SourceState = "degraded"
	// SourceRestarting is a source that ended and waits to be started again.
	SourceRestarting SourceState = "restarting"
	// SourceStopped is a source whose host stopped or is gone.
	SourceStopped SourceState = "stopped"
)

// Runs reports whether the source runs, well or not.
func (s SourceState) Runs() bool { return s == SourceRunning || s == SourceDegraded }

// SourceInfo says which source something is about.
type SourceInfo struct {
	Controller string `json:"controller"`
	Source     string `json:"source"`
}

// SourceCounters count what a source did since it was first run, by whatever
// host. A host that was killed loses what it counted in its last seconds.
type SourceCounters struct {
	// Deliveries were stored; Duplicates were seen before and changed nothing.
	Deliveries int64 `json:"deliveries"`
	Duplicates int64 `json:"duplicates"`
	// Enqueued and Unknown count the keys with and without a resource.
	Enqueued int64 `json:"enqueued"`
	Unknown  int64 `json:"unknown"`
	// Refused is what was not let in.
	Refused int64 `json:"refused"`
	// Errors are deliveries that the store did not take, errors that the source
	// went on after, and those that it ended with.
	Errors int64 `json:"errors"`
	// Restarts counts how often it was started again.
	Restarts int64 `json:"restarts"`
}

// SourceStatus is what a host tells of a source. It decides nothing.
type SourceStatus struct {
	SourceInfo
	State SourceState `json:"state"`
	// Since is when it came into the state.
	Since time.Time `json:"since"`
	// Reason says what is wrong with a degraded source.
	Reason string `json:"reason,omitempty"`
	SourceCounters
	// LastSeenAt is when something came from it last, duplicates and what was
	// refused included.
	LastSeenAt *time.Time `json:"lastSeenAt,omitempty"`
	// LastError and LastErrorAt stay after the source works again.
	LastError   string     `json:"lastError,omitempty"`
	LastErrorAt *time.Time `json:"lastErrorAt,omitempty"`
	// LastRefusal says why something was not let in.
	LastRefusal   string     `json:"lastRefusal,omitempty"`
	LastRefusalAt *time.Time `json:"lastRefusalAt,omitempty"`
	// NextAt is when it does something by itself next: begins again, or delivers its
	// next slot. It is nil where nobody can say.
	NextAt *time.Time `json:"nextAt,omitempty"`
	// RecordedAt is when the host wrote this.
	RecordedAt time.Time `json:"recordedAt"`
}
