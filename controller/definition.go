package controller

import (
	"context"
	"encoding/json"
	"time"
)

// Definition is a controller over JSON text: what the Manager, stores and
// command lines work with. Go authors write Define, which makes one from typed
// code.
type Definition struct {
	// Name is stable: ^[a-z][a-z0-9-]*$.
	Name string
	// Revision is raised by the author when the same resource leads to something else
	// than before. Then a host gives every resource of the controller a pass in the
	// background lane. Empty is a revision like any other.
	Revision string
	// ValidateSpec checks a spec before it is stored; a *SpecError lists every
	// problem with its JSON pointer. Nil accepts every JSON value.
	ValidateSpec func(spec json.RawMessage) error
	// InitialStatus gives the controller status of a new resource; nil is null.
	InitialStatus func(spec json.RawMessage) (json.RawMessage, error)
	// Reconcile runs one bounded pass. It must return soon after ctx ended; a
	// panic is an error of the pass. Required.
	Reconcile func(ctx context.Context, p *Pass, r Raw) (RawResult, error)
	// Timeout is the deadline of one pass; zero is DefaultTimeout.
	Timeout time.Duration
	// Concurrency bounds the passes of this controller at once; zero leaves the
	// manager's global limit alone.
	Concurrency int
	// ChildRunsPerHour bounds the attempts of child runs that start in an hour, over
	// all resources: so many at once, and from then on one in each share of an hour.
	// What is too much waits. Zero is DefaultChildRunsPerHour.
	ChildRunsPerHour int
	// AgentAttemptsPerHour bounds in the same way the attempts of agent nodes in the
	// child runs that hosts run, over all resources. One that is too much waits before
	// its time begins to run. A change counts from the next child run that is asked
	// for. Zero is DefaultAgentAttemptsPerHour.
	AgentAttemptsPerHour int
	// Resync runs a settled resource again after so long, in the background lane;
	// zero never does. It is for outsides that tell nothing when they change.
	Resync time.Duration
	// CompletedTTL requests the deletion of a resource that has been completed for so
	// long: ready, settled, with no child run under way, and unchanged. Zero never
	// does. The host looks every hour.
	CompletedTTL time.Duration
	// Sources deliver keys from outside while the controller runs.
	Sources []Source
}

// Reconciler is a controller in the author's types.
type Reconciler[S, T any] interface {
	// Reconcile compares what r requests with what is really there, does one
	// bounded piece of work, and returns. It reads outside state on every pass,
	// passes ctx to everything that can block, and changes the outside only
	// through p.Effects.
	Reconcile(ctx context.Context, p *Pass, r Resource[S, T]) (Result[T], error)
}

// SpecValidator is an optional ability of a Reconciler: rules of the spec
// beyond its Go type. Problems without a pointer concern the whole spec.
type SpecValidator[S any] interface {
	ValidateSpec(spec S) []SpecProblem
}

// StatusInitializer is an optional ability of a Reconciler: the controller
// status of a new resource instead of the zero T.
type StatusInitializer[S, T any] interface {
	InitialStatus(spec S) T
}

// Result says how a pass ended and what to write. Make one with Settled,
// Requeue, RequeueAfter or Retry.
//
// Spec: Controller contract.
type Result[T any] struct {
	// Kind is the wire name of the result.
	Kind ResultKind
	// After is the delay of a requeue; zero runs as soon as there is capacity.
	After time.Duration
	// Patch is written with the resource version that the pass read.
	Patch Patch[T]
}

// RawResult is a result whose controller status is JSON text.
type RawResult = Result[json.RawMessage]

// ResultKind is the wire name of a result.
type ResultKind string

// The results of a pass that returned no error.
const (
	ResultSettled ResultKind = "settled"
	ResultRequeue ResultKind = "requeue"
	ResultRetry   ResultKind = "retry"
)

// Patch is what a pass changes. The zero Patch changes nothing but
// observedGeneration.
type Patch[T any] struct {
	// ControllerStatus replaces the author's state; nil keeps it.
	ControllerStatus *T
	// Conditions are merged by type; types that are not named stay as they are,
	// with the generation they were observed at. One type twice is an error.
	Conditions []Condition
	// Finalizers replaces the whole list; nil keeps it, an empty list clears it.
	Finalizers []string
}

// Settled ends the work on the key until another event arrives.
func Settled[T any](p Patch[T]) Result[T] { return Result[T]{Kind: ResultSettled, Patch: p} }

// Requeue asks for another pass as soon as there is capacity, and within bounds
// on how often: see FreeRequeues.
func Requeue[T any](p Patch[T]) Result[T] { return Result[T]{Kind: ResultRequeue, Patch: p} }

// RequeueAfter asks for another pass once d has passed; d must be positive. An
// event runs the key earlier.
func RequeueAfter[T any](d time.Duration, p Patch[T]) Result[T] {
	return Result[T]{Kind: ResultRequeue, After: d, Patch: p}
}

// Retry asks for another pass with the growing delay of errors, although nothing
// failed: the outside is not ready, and asking it more often would not help. The
// count of errors stays as it is.
func Retry[T any](p Patch[T]) Result[T] { return Result[T]{Kind: ResultRetry, Patch: p} }
