package controller

import "time"

// Bounds on what comes from outside. A value over its bound is refused with a
// *LimitError and nothing is written.
//
// Spec: Work queue (spec, status, payload); reference: controller runtime,
// section 1.
const (
	// MaxSpecBytes and MaxStatusBytes bound the canonical JSON of a spec and of
	// a whole status.
	MaxSpecBytes   = 1 << 20
	MaxStatusBytes = 1 << 20
	// MaxEventBytes bounds the payload of one event.
	MaxEventBytes = 64 << 10
	// MaxRequestBytes bounds the request of an effect and the input of a child.
	MaxRequestBytes = 1 << 20
	// MaxKey bounds resource, effect and request keys, in UTF-16 code units.
	MaxKey = 512
	// MaxName bounds names of controllers, effect kinds, finalizers, condition
	// types and sources, in characters.
	MaxName = 128
	// MaxMessage cuts the message of a condition, MaxError a stored error text,
	// both in characters.
	MaxMessage = 4096
	MaxError   = 8192
	// MaxConditions and MaxFinalizers bound their lists.
	MaxConditions = 64
	MaxFinalizers = 32
	// MaxDeliveryKeys bounds the keys of one delivery.
	MaxDeliveryKeys = 10_000
	// MaxDeliveryNote cuts the note of a delivery, in characters.
	MaxDeliveryNote = 500
)

// Defaults of passes and queues.
const (
	// DefaultTimeout is the deadline of one pass.
	DefaultTimeout = 60 * time.Second
	// DefaultWorkers is the number of passes at once, over all controllers.
	DefaultWorkers = 4
	// BackoffBase, BackoffMax and BackoffJitter shape the delay after the n-th
	// error in a row: min(BackoffMax, BackoffBase * 2^(n-1)), give or take the
	// jitter.
	BackoffBase   = time.Second
	BackoffMax    = time.Minute
	BackoffJitter = 0.2
	// FreeRequeues passes in a row may run again at once: enough for work in
	// steps. From then on the delay doubles from RequeueBase up to RequeueMax,
	// until a pass settles, waits or fails. An event runs the key at once.
	FreeRequeues = 20
	RequeueBase  = 100 * time.Millisecond
	RequeueMax   = 5 * time.Second
	// UnsettledDelay is the wait of a pass that settled although an effect that
	// it did not ask for is unfinished.
	UnsettledDelay = 10 * time.Second
	// DefaultMaxInterruptions is how many attempts of a child request may be cut
	// off before it fails. The n-th is followed by the next one after the n-th
	// delay from ChildBackoffBase up to ChildBackoffMax, doubled each time.
	DefaultMaxInterruptions = 5
	// DefaultChildRunsPerHour is more than a person could look at, and less than a
	// loop that asks for run after run would start.
	DefaultChildRunsPerHour = 1000
	// MaxChildRunsPerHour is one a millisecond.
	MaxChildRunsPerHour = 3_600_000
	// DefaultAgentAttemptsPerHour is one every six seconds: more than a few runs at
	// once need whose agents think, and less than a loop would pay for that gets its
	// answers at once.
	DefaultAgentAttemptsPerHour = 600
	// MaxAgentAttemptsPerHour is one a millisecond.
	MaxAgentAttemptsPerHour = 3_600_000
	ChildBackoffBase        = time.Second
	ChildBackoffMax         = 5 * time.Minute
)
