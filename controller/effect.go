package controller

import (
	"context"
	"encoding/json"
	"time"
)

// EffectState is where the record of an effect stands.
type EffectState string

// The states of an effect. Applied and rejected are final.
const (
	// EffectPending is recorded before the provider is called.
	EffectPending EffectState = "pending"
	// EffectApplied means that the requested change is there.
	EffectApplied EffectState = "applied"
	// EffectRejected means that the provider refused for good.
	EffectRejected EffectState = "rejected"
	// EffectIndeterminate means that nobody knows; it is observed before a retry.
	EffectIndeterminate EffectState = "indeterminate"
)

// Final reports whether the state cannot change any more.
func (s EffectState) Final() bool { return s == EffectApplied || s == EffectRejected }

// EffectRecord is the durable record of one intended effect.
//
// Spec: External effects.
type EffectRecord struct {
	Key         string `json:"key"`
	ResourceUID string `json:"resourceUid"`
	Generation  int64  `json:"generation"`
	Kind        string `json:"kind"`
	// RequestFingerprint is the SHA-256 of the canonical request, in hex.
	RequestFingerprint string      `json:"requestFingerprint"`
	State              EffectState `json:"state"`
	// Token is stable for the record; a provider that knows idempotency keys
	// takes it as one.
	Token       string     `json:"token"`
	ExternalRef string     `json:"externalRef,omitempty"`
	Error       string     `json:"error,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
}

// Effect is one intended change of the outside.
type Effect struct {
	// Key names the effect within its resource; put in it whatever makes it
	// another effect (generation, revision).
	Key string
	// Generation is the one that wanted the effect; zero is that of the pass. A
	// controller that remembers an unfinished effect gives the earlier one, to
	// bring the effect to its end: until then it holds a deletion back.
	Generation int64
	// Kind is the type of effect, for records and policies.
	Kind string
	// Request is what is asked of the provider, as JSON. The same key with
	// another request is an *EffectConflictError and nothing is called.
	Request any
	// Adopt looks before the first time too: the change may be there although this
	// resource never asked for it.
	Adopt bool
	// Observe looks whether the change is there. It is called before any retry
	// of a pending or indeterminate record, and for a new one only with Adopt or
	// without Apply.
	Observe func(ctx context.Context) (Observation, error)
	// Apply makes the change, once, with the record's token. It is called only
	// while the pass holds its claim. An error leaves the effect indeterminate.
	//
	// Without it the effect is only observed: somebody else makes the change. Until
	// it is there the record stays pending, and a pass that settles comes back
	// after UnsettledDelay.
	Apply func(ctx context.Context, token string) (Application, error)
}

// Observation is what Observe found.
type Observation struct {
	// State is applied, not applied or indeterminate.
	State ObservedState
	// ExternalRef optionally names the thing found.
	ExternalRef string
}

// ObservedState is the answer of an observation.
type ObservedState string

// The answers of an observation.
const (
	ObservedApplied       ObservedState = "applied"
	ObservedNotApplied    ObservedState = "not_applied"
	ObservedIndeterminate ObservedState = "indeterminate"
)

// Application is what Apply did: State is EffectApplied, EffectRejected or
// EffectIndeterminate.
type Application struct {
	State       EffectState
	ExternalRef string
	// Reason tells why the effect was rejected or is indeterminate.
	Reason string
}

// WorkflowRequest asks for a child run.
type WorkflowRequest struct {
	// RequestKey names the request within its resource; a changed input needs a
	// new one.
	RequestKey string
	// Workflow is the name of a known workflow.
	Workflow string
	// Input is the run input, as JSON.
	Input any
	// MaxInterruptions is how many attempts may be cut off before the request
	// fails with CodeInterruptedTooOften: 1 to 1000, zero is
	// DefaultMaxInterruptions. An attempt that a host cut off because it stopped
	// does not count.
	MaxInterruptions int
}

// ChildRun is the record of a requested child run.
//
// Spec: Child workflows.
type ChildRun struct {
	RequestID        string   `json:"requestId"`
	ResourceUID      string   `json:"resourceUid"`
	RequestKey       string   `json:"requestKey"`
	InputFingerprint string   `json:"inputFingerprint"`
	Workflow         string   `json:"workflow"`
	RunID            string   `json:"runId,omitempty"`
	State            RunState `json:"state"`
	Attempt          int      `json:"attempt"`
	Error            string   `json:"error,omitempty"`
	// Code says what the runtime, and not the run, did to the request: why it failed,
	// or what keeps it.
	Code string `json:"code,omitempty"`
	// Interruptions counts the attempts that were cut off by something else than
	// a host that stopped.
	Interruptions int `json:"interruptions,omitempty"`
	// StartsAt is when a pending attempt starts at the earliest, or when one that is
	// running goes on that waits; nil if there is nothing to wait for.
	StartsAt *time.Time `json:"startsAt,omitempty"`
	// Output is the final output of a succeeded run, and that of a waiting one also
	// while its continuation runs.
	Output json.RawMessage `json:"output,omitempty"`
}

// The codes of child requests that the runtime keeps, ends or made fail.
const (
	// CodeInterruptedTooOften: its attempts were cut off again and again; the run may
	// be what kills its host.
	CodeInterruptedTooOften = "interrupted_too_often"
	// CodeChildRateLimited: the attempt waits until StartsAt, because its controller
	// asks for more child runs in an hour than its definition allows.
	CodeChildRateLimited = "child_rate_limited"
	// CodeAgentRateLimited: the run waits until StartsAt before an agent node, because
	// the child runs of its controller made more agent attempts in an hour than its
	// definition allows.
	CodeAgentRateLimited = "agent_rate_limited"
	// CodeCancelling: it was told to end, for the reason in Error, and whoever runs it
	// has not done so yet. It ends with CodeCancelled, unless it succeeds before.
	CodeCancelling = "cancelling"
	// CodeCancelled: its resource is being deleted, or its controller wanted it to end:
	// see Workflows.CancelOthers. The key stays used: what is wanted anew needs another.
	CodeCancelled = "cancelled"
)

// Scheduler is all that the controller runtime knows of workflow runs. The
// host implements it over the engine.
type Scheduler interface {
	// Resolve pins the definition behind a workflow's name before an attempt is
	// reserved. An unknown name is an *UnknownWorkflowError.
	Resolve(ctx context.Context, workflow string) (WorkflowIdentity, error)
	// NewRunID returns an ID that no run has, for a run that starts now.
	NewRunID(workflow string) string
}

// WorkflowIdentity pins the definition that a run was requested with.
type WorkflowIdentity struct {
	// Source is the identity of the definition, as JSON.
	Source json.RawMessage
	// Digest covers the shape of the graph.
	Digest string
}
