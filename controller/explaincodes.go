package controller

import "slices"

// ReasonCode is the stable code of one reason of an explanation; docs/reasons.md
// has an entry for each.
type ReasonCode string

// The codes: what keeps everything else from moving, then who works on it, what
// is waited for outside, the delays, the deletion, what the controller says, and what
// holds nothing up.
const (
	ReasonNoDefinition ReasonCode = "controller_not_loaded"
	ReasonSuspended    ReasonCode = "suspended"
	ReasonNoHost       ReasonCode = "no_host"
	ReasonStalled      ReasonCode = "stalled"
	ReasonFrozen       ReasonCode = "frozen"

	ReasonOwnerDead       ReasonCode = "owner_dead"
	ReasonPassRunning     ReasonCode = "pass_running"
	ReasonPassesAbandoned ReasonCode = "passes_abandoned"
	ReasonControllerFull  ReasonCode = "controller_full"
	ReasonPassDue         ReasonCode = "pass_due"

	ReasonEffectInDoubt    ReasonCode = "effect_in_doubt"
	ReasonEffectPending    ReasonCode = "effect_pending"
	ReasonChildWaiting     ReasonCode = "child_waiting"
	ReasonChildInterrupted ReasonCode = "child_interrupted"
	ReasonChildCancelling  ReasonCode = "child_cancelling"
	ReasonChildRunning     ReasonCode = "child_running"
	ReasonChildQueued      ReasonCode = "child_queued"
	ReasonChildRateLimited ReasonCode = CodeChildRateLimited
	ReasonAgentRateLimited ReasonCode = CodeAgentRateLimited

	ReasonBackoff     ReasonCode = "error_backoff"
	ReasonRetryDelay  ReasonCode = "retry_backoff"
	ReasonPassDelayed ReasonCode = "pass_delayed"

	ReasonOrphanFinalizer ReasonCode = "orphan_finalizer"
	ReasonHeldByFinalizer ReasonCode = "held_by_finalizer"
	ReasonHeldByEffect    ReasonCode = "held_by_effect"
	ReasonHeldByChild     ReasonCode = "held_by_child"
	ReasonDeletionDue     ReasonCode = "deletion_due"

	ReasonNeverObserved  ReasonCode = "never_observed"
	ReasonOutdated       ReasonCode = "generation_outdated"
	ReasonEffectRejected ReasonCode = "effect_rejected"
	ReasonNotReady       ReasonCode = "not_ready"
	ReasonReadyUnknown   ReasonCode = "readiness_unknown"
	ReasonNoCondition    ReasonCode = "no_ready_condition"
	ReasonIsReady        ReasonCode = "ready"

	ReasonRestored ReasonCode = "restored"
)

// ReasonCodes returns all codes, in the order in which reasons are given.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{
		ReasonNoDefinition, ReasonSuspended, ReasonNoHost, ReasonStalled, ReasonFrozen,
		ReasonOwnerDead, ReasonPassRunning, ReasonPassesAbandoned, ReasonControllerFull, ReasonPassDue,
		ReasonEffectInDoubt, ReasonEffectPending, ReasonChildWaiting, ReasonChildInterrupted, ReasonChildCancelling, ReasonChildRunning,
		ReasonAgentRateLimited, ReasonChildRateLimited, ReasonChildQueued,
		ReasonBackoff, ReasonRetryDelay, ReasonPassDelayed,
		ReasonOrphanFinalizer, ReasonHeldByFinalizer, ReasonHeldByEffect, ReasonHeldByChild, ReasonDeletionDue,
		ReasonNeverObserved, ReasonOutdated, ReasonEffectRejected, ReasonNotReady, ReasonReadyUnknown, ReasonNoCondition, ReasonIsReady,
		ReasonRestored,
	}
}

// byUrgency orders reasons as ReasonCodes does; equal ones stay as they are.
func byUrgency(a, b Cause) int {
	codes := ReasonCodes()
	return slices.Index(codes, a.Code) - slices.Index(codes, b.Code)
}

// Actor is who acts next on a resource.
type Actor string

// The actors of an explanation.
const (
	// ActorNobody has nothing to do: all is as it was asked for.
	ActorNobody Actor = "nobody"
	// ActorTime is a delay that has to pass.
	ActorTime Actor = "time"
	// ActorHost is a running host.
	ActorHost Actor = "host"
	// ActorPerson is whoever asked for the resource, or an operator.
	ActorPerson Actor = "person"
	// ActorProvider is what an effect was asked of.
	ActorProvider Actor = "provider"
	// ActorDefinition is a program that has the controller.
	ActorDefinition Actor = "definition"
)

// Standing is the summary of an explanation.
type Standing string

// The standings of a resource.
const (
	StandingReady       Standing = "Ready"
	StandingProgressing Standing = "Progressing"
	StandingBlocked     Standing = "Blocked"
	StandingStalled     Standing = "Stalled"
	StandingSuspended   Standing = "Suspended"
	StandingDeleting    Standing = "Deleting"
)
