package controller

import (
	"log/slog"
	"time"
)

// Observer hears what a Manager does, and what the host around it does with
// child runs and sources: it is there for logs and metrics. Observe is called from many
// goroutines, for one pass in order, and the work waits for it: it must return
// at once, and must neither block nor panic. Records tell, they never decide;
// what must not be lost is in the events of the store.
//
// Spec: Observability.
type Observer interface {
	Observe(r Record)
}

// Observers are several that hear the same, in order.
type Observers []Observer

// Observe implements Observer.
func (l Observers) Observe(r Record) {
	for _, o := range l {
		o.Observe(r)
	}
}

// Record is something that happened: PassStarted, PassEnded, PassAbandoned,
// PassReturned, EffectChanged, ChildChanged, ChildLost, StoreFailed, SourceChanged,
// SourceDelivered, SourceRefused or SourceFailed. There may be more of them later;
// an Observer passes over what it does not know.
type Record interface {
	// level, message and attributes are what a log says of it.
	level() slog.Level
	message() string
	attributes() []slog.Attr
}

// PassInfo says which pass a record is about.
type PassInfo struct {
	Ref
	// Generation is the one that the pass works on.
	Generation int64
	// ReconcileID is Pass.ID.
	ReconcileID string
}

// PassStarted is a pass whose key was claimed.
type PassStarted struct {
	PassInfo
	// Lane is that of the claimed row, and Waited how long ago it became due.
	Lane   Lane
	Waited time.Duration
	// Again says that the passes before this one failed or asked for a retry.
	Again bool
}

// PassEnded is the end of a pass, whatever it was. Every pass that started has
// one.
type PassEnded struct {
	PassInfo
	Outcome PassOutcome
	// Duration is the time since the claim.
	Duration time.Duration
	// Reason says why the key runs again, After how long it waits for that;
	// empty if it does not run again.
	Reason RequeueReason
	After  time.Duration
	// Err is what the reconciler or the store returned, or why the pass was cut
	// off; nil if all went well. A panic is a *PanicError, an error that is not
	// tried again a *TerminalError. Its text may have a secret in it: show it with
	// secret.Redact.
	Err error
}

// PassOutcome is how a pass ended.
type PassOutcome string

// The outcomes of a pass.
const (
	PassSettled  PassOutcome = "settled"
	PassRequeued PassOutcome = "requeue"
	PassDeleted  PassOutcome = "deleted"
	PassFailed   PassOutcome = "failed"
	PassConflict PassOutcome = "conflict"
	// PassReleased is a pass that a stopping manager cut off.
	PassReleased PassOutcome = "released"
	// PassLost means that another pass had the key already.
	PassLost PassOutcome = "lost"
	// PassUnrecorded means that the store took no end of the pass.
	PassUnrecorded PassOutcome = "unrecorded"
)

// PassOutcomes returns all outcomes.
func PassOutcomes() []PassOutcome {
	return []PassOutcome{
		PassSettled, PassRequeued, PassDeleted, PassFailed, PassConflict, PassReleased, PassLost,
		PassUnrecorded,
	}
}

// PassAbandoned is a reconciler that did not return when its pass ended.
type PassAbandoned struct {
	PassInfo
	// Cause says why the pass ended without it.
	Cause error
}

// PassReturned is the return, at last, of an abandoned reconciler.
type PassReturned struct {
	PassInfo
	// Duration is the time since the claim.
	Duration time.Duration
	// Err is what it returned.
	Err error
}

// EffectChanged is what a pass recorded of an effect.
type EffectChanged struct {
	PassInfo
	// Effect is the key of the effect.
	Effect, Kind string
	State        EffectState
	// Event says what was recorded, and with that whether it was observed or
	// applied.
	Event EventType
	// Err is the error of Observe or Apply.
	Err string
}

// ChildInfo says which attempt of a child run a record is about.
type ChildInfo struct {
	RequestID, RunID, Workflow string
	Attempt                    int
}

// ChildChanged is a child run that was requested, started or ended.
type ChildChanged struct {
	ChildInfo
	// Ref is the parent, if a pass of it requested the run; else it is empty.
	Ref   Ref
	State RunState
	// Err tells why the attempt failed or was interrupted.
	Err string
}

// ChildLost is a child run whose claim was lost while it ran here.
type ChildLost struct {
	ChildInfo
	Err error
}

// StoreFailed is an operation of the store that failed and is tried again.
type StoreFailed struct {
	// Doing says what was tried, for example "finish a pass".
	Doing string
	Err   error
	// Failures counts them in a row; After is the wait before the next try.
	Failures int
	After    time.Duration
}
