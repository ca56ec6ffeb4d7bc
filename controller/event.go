package controller

import (
	"encoding/json"
	"time"
)

// Event is one structured record of something that happened to a resource, or
// with an empty Ref to the project. Events outlive their resource. They tell, they
// never decide.
//
// Spec: Observability.
type Event struct {
	// Seq orders the events of one store, Cursor is the place after this one in the
	// change feed.
	Seq        int64
	Cursor     Cursor
	RecordedAt time.Time
	Ref
	Type    EventType
	Payload json.RawMessage
}

// EventType names what happened.
type EventType string

// The event types and the fields of their payloads.
const (
	// EventApplied and EventUpdated: generation, actor.
	EventApplied EventType = "resource_applied"
	EventUpdated EventType = "resource_updated"
	// EventDeletionRequested: actor. EventDeleted: uid.
	EventDeletionRequested EventType = "deletion_requested"
	EventDeleted           EventType = "resource_deleted"
	// EventFinalizerForced: finalizer, actor, reason.
	EventFinalizerForced EventType = "finalizer_forced"
	// EventRequested: actor. EventSuspended and EventUnsuspended: actor, reason?.
	EventRequested   EventType = "reconcile_requested"
	EventSuspended   EventType = "reconcile_suspended"
	EventUnsuspended EventType = "reconcile_unsuspended"
	// EventFinished, EventFailed, EventConflict and EventReleased end a pass:
	// reconcileId, generation, outcome, durationMs, and as they apply reason,
	// requeueAfterMs, error, terminal.
	EventFinished EventType = "reconcile_finished"
	EventFailed   EventType = "reconcile_failed"
	EventConflict EventType = "reconcile_conflict"
	EventReleased EventType = "reconcile_released"
	// The effect events: effectKey, kind, generation, state, externalRef?, error?.
	EventEffectPending       EventType = "effect_pending"
	EventEffectApplied       EventType = "effect_applied"
	EventEffectRecovered     EventType = "effect_recovered"
	EventEffectRejected      EventType = "effect_rejected"
	EventEffectIndeterminate EventType = "effect_indeterminate"
	EventEffectObserveFailed EventType = "effect_observe_failed"
	// EventEffectResolved: effectKey, state, verdict, actor, reason.
	EventEffectResolved EventType = "effect_resolved"
	// The child events: requestId, requestKey, workflow, state, attempt, runId?,
	// error?, code?.
	EventWorkflowRequested    EventType = "workflow_requested"
	EventWorkflowStateChanged EventType = "workflow_state_changed"
	// EventFrozen and EventUnfrozen, of the project: actor, reason?.
	EventFrozen   EventType = "effects_frozen"
	EventUnfrozen EventType = "effects_unfrozen"
	// EventRestored, of the project: actor?, from?, effects (how many became
	// indeterminate). EventRestoredAccepted, of the project: actor, reason?.
	EventRestored         EventType = "project_restored"
	EventRestoredAccepted EventType = "restored_accepted"
	// EventRunWaiting, of the project: a detached run waits for an answer: runId,
	// workflow. Child runs have EventWorkflowStateChanged.
	EventRunWaiting EventType = "run_waiting"
	// EventDefinitionLoaded and EventDefinitionRemoved, of the project: kind, name,
	// place, source, digest.
	EventDefinitionLoaded  EventType = "definition_loaded"
	EventDefinitionRemoved EventType = "definition_removed"
	// EventDelivered is recorded for a key that a source woke: source, deliveryId?,
	// note?.
	EventDelivered EventType = "source_delivered"
)

// RequeueReason says why a key runs again.
type RequeueReason string

// The reasons of a requeue.
const (
	ReasonRequested       RequeueReason = "requested"
	ReasonDelay           RequeueReason = "delay"
	ReasonErrorBackoff    RequeueReason = "error_backoff"
	ReasonTimeout         RequeueReason = "timeout"
	ReasonConflict        RequeueReason = "conflict"
	ReasonEventDuringPass RequeueReason = "event_during_claim"
	ReasonEffectApplied   RequeueReason = "effect_applied"
	ReasonEffectUnsettled RequeueReason = "effect_unsettled"
	ReasonStopped         RequeueReason = "stopped"
	// ReasonRetry is a pass that returned Retry, ReasonResync one that settled in
	// a controller with a resync period.
	ReasonRetry RequeueReason = "retry"
	// ReasonFrozenProject is a pass that had an effect to apply in a frozen
	// project.
	ReasonFrozenProject RequeueReason = "frozen"
	ReasonResync        RequeueReason = "resync"
)

// Cursor is a place in the change feed. It is opaque: keep it, compare it for
// equality, hand it back.
type Cursor string

// ChangeFilter selects events; empty fields select everything.
type ChangeFilter struct {
	Controller, Key string
}

// Changes is one answer of the change feed.
type Changes struct {
	// Events is never empty and in order.
	Events []Event
	// Next continues after the last event.
	Next Cursor
}

// EventPruning says which events go.
type EventPruning struct {
	// Before selects events that are older.
	Before time.Time
	// PerResource, if set, selects all but the newest so many of each resource,
	// as far as they are older than Spare: who follows the events must not lose
	// what has just happened.
	PerResource int
	Spare       time.Time
	// Limit bounds one call, 1 to 10,000; zero is 1000. Call again until less were
	// removed.
	Limit int
	// DryRun counts and removes nothing.
	DryRun bool
}

// DeliveryPruning says which deliveries are forgotten; after that one with the
// same ID counts as new.
type DeliveryPruning struct {
	// Before selects deliveries that are older.
	Before time.Time
	// Limit and DryRun are as in EventPruning.
	Limit  int
	DryRun bool
}
