package controller

import (
	"context"
	"time"

	"piworkflows/clock"
)

// Source maps events from outside to resource keys. The host runs it and
// starts it again, with a delay, after an error; it never takes the host down.
// One value is run by one host at a time.
//
// Spec: Sources and workers.
type Source interface {
	// Name is unique within the definition and stable: the cursor belongs to it.
	Name() string
	// Run delivers until ctx ends. To return earlier is an error, also without
	// one, and so is a panic.
	Run(ctx context.Context, in Intake) error
}

// SourceChecker is an optional ability of a Source: it finds mistakes in how it
// was made. NewRegistry reports them with all others.
type SourceChecker interface {
	// Check returns what is wrong with the source as one of the named controller.
	Check(controller string) error
}

// Intake is what a source gets from the process that runs it, all of it set. Its
// functions are safe for concurrent use.
//
// Design: One way in.
type Intake struct {
	// Controller is the name of the controller that the source belongs to.
	Controller string
	// Cursor is the last one that was delivered, empty at first.
	Cursor string
	// Clock is that of the process: a source waits on it and on nothing else.
	Clock clock.Clock
	// Feed reads the resources of the project and what happens to them.
	Feed ResourceReader
	// Deliver is the one way in.
	Deliver Deliver
	// Refused counts something from outside that was not let in, such as a request
	// with a wrong signature, and says why in a few words that are not the
	// outside's own.
	Refused func(reason string)
	// Failed counts an error that the source goes on after by itself.
	Failed func(err error)
	// Degraded says that the source works from now on, but not as it should, and
	// why: it is shown until Degraded is called with the empty reason, or Run
	// begins again.
	Degraded func(reason string)
	// Next tells people when the source does something by itself next; the zero time
	// is that nobody can say.
	Next func(at time.Time)
}

// ResourceReader is the part of a Store that a source may read; each operation is
// that of Store.
type ResourceReader interface {
	Get(ctx context.Context, ref Ref) (Raw, error)
	List(ctx context.Context, q ListQuery) (ListPage, error)
	Head(ctx context.Context) (Cursor, error)
	Changes(ctx context.Context, after Cursor, f ChangeFilter) (Changes, error)
}

// Deliver is the one way in. Once it returns nil the keys are durable; a
// delivery ID that was seen before changes nothing.
type Deliver func(ctx context.Context, d Delivery) (DeliveryResult, error)

// Delivery is one event from outside. It carries keys and no commands.
type Delivery struct {
	// Source is the name of the source; the runtime fills it in.
	Source string
	// ID makes the delivery idempotent; empty is never a duplicate. It is kept, so
	// one with a secret in it is a *secret.LeakError.
	ID string
	// Cursor replaces the source's cursor in the same transaction; empty keeps
	// it. A secret in it is a *secret.LeakError.
	Cursor string
	// Keys are the resources to look at.
	Keys []string
	// Note tells people what happened: it is in the event of each key, redacted
	// and cut at MaxDeliveryNote characters, and nothing else of a payload is kept.
	// No program decides by it.
	Note string
}

// DeliveryResult counts what a delivery did.
type DeliveryResult struct {
	// Duplicate says that the ID was seen before and nothing was done.
	Duplicate bool
	// Enqueued and Unknown count the keys with and without a resource.
	Enqueued, Unknown int
}
