package controller

import (
	"context"
	"encoding/json"
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

// Store keeps the resources of one project. Each operation is one transaction
// and is durable (fsynced) when it returns, except Claim and Renew, which die
// with their claimant. Every write of a pass carries its Claim and is refused
// with a *lease.LostError once the claim no longer holds. A store is opened
// with a project scope, owns the clock of its leases, validates names and
// bounds, and is safe for concurrent use, also by several processes.
type Store interface {
	// Put creates a resource or changes its spec, and enqueues the key if the
	// canonical spec changed. A spec that is the same changes and wakes nothing.
	Put(ctx context.Context, p Put) (PutResult, error)
	// Get returns one resource; a *NotFoundError if there is none.
	Get(ctx context.Context, ref Ref) (Raw, error)
	// List returns resources in order of controller and key.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// RequestDeletion sets the deletion timestamp once, cancels the children, and
	// enqueues the key. A resource without finalizers that nothing works on (no live
	// claim, no unfinished effect, no running child) is removed at once; later, the
	// last of these that ends removes it. It can take a finalizer away whose
	// controller does not come back: a *ForceError without an actor and a reason, a
	// *FinalizerNotFoundError, a *UnfinishedEffectsError.
	RequestDeletion(ctx context.Context, d Deletion) (DeletionResult, error)

	// Enqueue wakes a key now; the resource must exist. It returns the count of
	// wake-ups: once QueueRow.Handled has reached it, a pass has answered.
	Enqueue(ctx context.Context, ref Ref, actor string) (int64, error)
	// Suspend keeps a key from being claimed until Unsuspend, which wakes it. A
	// pass that runs goes on. They report whether anything changed.
	Suspend(ctx context.Context, ref Ref, actor, reason string) (bool, error)
	Unsuspend(ctx context.Context, ref Ref, actor, reason string) (bool, error)
	// RebuildQueue throws the rows away that nobody works on and wakes every
	// resource, in the background lane and in many transactions. It returns the
	// number of resources.
	RebuildQueue(ctx context.Context) (int, error)
	// Deliver wakes the keys of one delivery of a controller's source.
	Deliver(ctx context.Context, controller string, d Delivery) (DeliveryResult, error)
	// SourceCursor returns the last cursor that was delivered; empty if none.
	SourceCursor(ctx context.Context, controller, source string) (string, error)
	// RecordSources keeps what a host tells of its sources, with the time of the
	// store, and Sources returns what was told last of each, in the order of
	// controller and source: as SourceStopped if the process that told it is gone.
	RecordSources(ctx context.Context, list []SourceStatus) error
	Sources(ctx context.Context) ([]SourceStatus, error)

	// Claim takes the row whose turn is the longest ago among the named
	// controllers (when it became due, later by the offset of its lane), with a
	// snapshot of its resource. It returns nil if none is due.
	Claim(ctx context.Context, controllers []string, d time.Duration) (*Claim, error)
	// WaitDue returns once a row of the named controllers may be claimable, at
	// once in this process, or ctx ended.
	WaitDue(ctx context.Context, controllers []string) error
	// Renew extends a claim by d from now.
	Renew(ctx context.Context, c *Claim, d time.Duration) error
	// Finish ends a pass: writes, deletes if due, settles or requeues, records
	// the event.
	Finish(ctx context.Context, c *Claim, f Finish) (Finished, error)

	// ReserveEffect finds the record of an effect or makes a pending one, takes it
	// for this pass, records the attempt that follows, and says whether it may begin.
	// A record belongs to the pass that reserved it last.
	ReserveEffect(ctx context.Context, c *Claim, e EffectReservation) (EffectRecord, Reservation, error)
	// FinishEffect records what is known after Observe or Apply. It is a
	// *lease.LostError if the pass did not reserve the effect, and a *FrozenError
	// if the outcome asks to go on applying and nothing is to be applied.
	FinishEffect(ctx context.Context, c *Claim, e EffectOutcome) (EffectRecord, error)
	// CheckApply looks once more before an effect is applied: a *lease.LostError
	// if the claim no longer holds, a *FrozenError if nothing is to be applied.
	CheckApply(ctx context.Context, c *Claim) error
	// Effects returns the records of a resource, oldest first, ListEffects those
	// of the project, newest first.
	Effects(ctx context.Context, ref Ref) ([]EffectRecord, error)
	ListEffects(ctx context.Context, q EffectQuery) ([]EffectItem, error)
	// EffectAttempts returns what was tried for an effect, oldest first; an
	// *EffectNotFoundError if there is no such effect.
	EffectAttempts(ctx context.Context, ref Ref, effect string) ([]EffectAttempt, error)
	// PruneEffects cuts records of finished effects to key, fingerprint,
	// generation, state, reference and times. They stay as long as their resource,
	// so that no effect is made twice. It returns how many it cut, or would cut.
	PruneEffects(ctx context.Context, p EffectPruning) (int, error)
	// ResolveEffect ends an uncertainty by the verdict of a person, and wakes the
	// key. It is an *EffectNotFoundError, an *EffectResolvedError for an effect
	// that has ended, an *EffectBusyError while a pass works on the resource.
	ResolveEffect(ctx context.Context, ref Ref, v Verdict) (EffectRecord, error)
	// Freeze keeps every effect of the project from being applied until Unfreeze,
	// which wakes the resources that have one to apply; observing goes on, and so
	// does what a pass was about to apply, for a tenth of a second. They
	// report whether anything changed, and their events belong to no resource.
	// Frozen is nil without a freeze.
	Freeze(ctx context.Context, actor, reason string) (bool, error)
	Unfreeze(ctx context.Context, actor, reason string) (bool, error)
	Frozen(ctx context.Context) (*Suspension, error)
	// MarkRestored says that what the store knows of the project may be older than
	// what was done outside, because it was brought back from a copy. In one
	// transaction every claim ends, every unfinished effect becomes indeterminate, child
	// runs that had not begun count as cut off, every key is woken in the background
	// lane, and from now on also new effects are observed before they are applied, until
	// AcceptRestored, which reports whether anything changed. Restored is nil unless
	// that goes on.
	MarkRestored(ctx context.Context, r Restoration) error
	AcceptRestored(ctx context.Context, actor, reason string) (bool, error)
	Restored(ctx context.Context) (*Restoration, error)

	// ReserveChild finds the record of a child request or makes one. If an
	// attempt is to start (the first, or one after an interrupted attempt), the
	// attempt, its run ID, the queued run row and status.workflowRun are
	// written together. The version is compared with the one given, and the new
	// one returned. A request whose attempts were cut off too often fails instead.
	ReserveChild(ctx context.Context, c *Claim, r ChildReservation) (ChildRun, ChildReserved, error)
	// CancelChildren ends the child requests of a resource that nobody wants any more
	// and that nobody runs, and asks for the end of the runs of the others, once. The
	// version is compared if something is written, and the new one returned: the pass
	// knows of these ends, so they are no conflict for it, and wake nothing.
	CancelChildren(ctx context.Context, c *Claim, r ChildCancellation) (ChildrenCancelled, error)
	// StartChild marks the attempt of a claimed run row as running, unless a
	// newer state is recorded.
	StartChild(ctx context.Context, run *runqueue.Claim) error
	// CountAgentAttempt counts an agent attempt of a child run for its controller: so
	// many an hour as ChildReservation.AgentAttemptsPerHour says may start at once, and
	// from then on one in each share of an hour. If there is no room nothing is
	// counted, and wait is how long there will be none; until it is counted the child
	// run has the code CodeAgentRateLimited and StartsAt.
	CountAgentAttempt(ctx context.Context, run *runqueue.Claim) (wait time.Duration, err error)
	// FinishChild ends a child attempt: run row, request record,
	// status.workflowRun, event and the parent's wake-up together. If it changes
	// status.workflowRun during a pass, that pass ends as a conflict. The fence of
	// the run's claim is checked. A parent that is gone is no error.
	FinishChild(ctx context.Context, run *runqueue.Claim, o ChildOutcome) error
	// Children returns the child requests of a resource, oldest first.
	Children(ctx context.Context, ref Ref) ([]ChildRun, error)

	// RecordDefinitions says what a host works with from now on, and what it does not
	// any more. A definition that is new, or has another digest than was recorded, is
	// told; if it is a controller that was there before, its resources are woken in the
	// background lane, all in one transaction. It returns how many were woken.
	RecordDefinitions(ctx context.Context, list []DefinitionRecord) (int, error)
	// Definitions returns what was recorded, in the order of kind and name.
	Definitions(ctx context.Context) ([]DefinitionRecord, error)

	// QueueNotices keeps what is to be told to a hook, and the place in the change
	// feed up to which that was looked for, in one transaction. A notice whose ID the
	// hook was given before is dropped; IDs of what was told are forgotten after
	// NoticeMemory. NoticeCursor is that place; empty at first.
	QueueNotices(ctx context.Context, hook string, list []Notice, next Cursor) error
	NoticeCursor(ctx context.Context, hook string) (Cursor, error)
	// Notices returns what has not been told to a hook, what is due first at first.
	Notices(ctx context.Context, hook string, limit int) ([]Notice, error)
	// EndNotice says what came of an attempt to tell; an ID that is not known is no
	// error.
	EndNotice(ctx context.Context, hook, id string, e NoticeEnd) error

	// Queue returns the queue row of a resource.
	Queue(ctx context.Context, ref Ref) (QueueRow, error)
	// Backlog counts what is left to do for the named controllers, and all
	// unfinished child runs.
	Backlog(ctx context.Context, controllers []string) (Backlog, error)
	// Events returns recorded events, oldest first within the answer.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// PruneEvents removes old events and PruneDeliveries forgets old deliveries, in
	// many transactions. They return how many, or how many it would be. A cursor
	// stays good; what was removed after it is passed over. The newest event of a
	// store may stay, however old it is.
	PruneEvents(ctx context.Context, p EventPruning) (int, error)
	PruneDeliveries(ctx context.Context, p DeliveryPruning) (int, error)
	// Head returns the cursor after the newest event.
	Head(ctx context.Context) (Cursor, error)
	// Changes returns the events after a cursor; it blocks until there is one
	// or ctx ended. The empty cursor is the beginning.
	Changes(ctx context.Context, after Cursor, f ChangeFilter) (Changes, error)
}

// FinishClaimer is a Store that can end a pass and claim the next key in one
// transaction, for which its caller waits once instead of twice. A Manager does
// with Finish and Claim what others do not offer.
type FinishClaimer interface {
	// FinishAndClaim is Finish, and then Claim: the next claim is nil if none is
	// due. After an error nothing was finished and nothing claimed.
	FinishAndClaim(ctx context.Context, c *Claim, f Finish, controllers []string, d time.Duration) (Finished, *Claim, error)
}

// Put is a request to create or change a resource.
type Put struct {
	Ref Ref
	// Spec is checked JSON of at most MaxSpecBytes.
	Spec json.RawMessage
	// InitialStatus is the controller status of a new resource.
	InitialStatus json.RawMessage
	// Expect, if set, is the version that the resource must have; 0 says that
	// it must not exist.
	Expect *int64
	// Actor says who asks; it is recorded in the event.
	Actor string
	// DryRun tells what would happen and writes nothing.
	DryRun bool
}

// PutAction is what a put did.
type PutAction string

// The actions of a put.
const (
	Created    PutAction = "created"
	Configured PutAction = "configured"
	Unchanged  PutAction = "unchanged"
)

// PutResult is the resource after a put; with DryRun, as it would be.
type PutResult struct {
	Action   PutAction
	Resource Raw
}

// ListQuery selects resources; an empty Controller selects all.
type ListQuery struct {
	Controller string
	// Queued selects those that have a queue row.
	Queued bool
	// Limit is 1 to 1000; zero is 100.
	Limit int
	// Continue is the Continue of the page before.
	Continue string
}

// ListPage is one page of resources.
type ListPage struct {
	Items []ListItem
	// Continue is empty on the last page.
	Continue string
}

// ListItem is a resource with its queue row.
type ListItem struct {
	Resource Raw
	Queue    QueueRow
	// UpdatedAt is when the resource version rose for the last time.
	UpdatedAt time.Time
}

// Deletion asks for a resource to be deleted.
type Deletion struct {
	Ref    Ref
	Expect *int64
	Actor  string
	// ForceFinalizer is taken away although its controller has not cleaned up. What
	// it stood for may be left behind. Actor and Reason are required with it, and
	// recorded.
	ForceFinalizer string
	Reason         string
}

// DeletionResult says whether the resource is gone already.
type DeletionResult struct {
	Deleted  bool
	Resource Raw
}

// QueueState is where a key stands in the work queue.
type QueueState string

// The states of a queue row.
const (
	QueueNone    QueueState = "none"
	QueueReady   QueueState = "ready"
	QueueDelayed QueueState = "delayed"
	QueueClaimed QueueState = "claimed"
	// QueueSuspended is a row that waits for Unsuspend.
	QueueSuspended QueueState = "suspended"
)

// QueueRow describes delivery, never the resource.
//
// Spec: Work queue.
type QueueRow struct {
	State       QueueState
	AvailableAt *time.Time
	Lane        Lane
	// ConsecutiveErrors and Retries count the passes in a row that failed, and
	// those that asked to be tried again.
	ConsecutiveErrors, Retries int
	LastError                  string

	// What follows stays when the row is gone.

	// Wake counts the wake-ups of the key; Handled is how many of them the last
	// pass that ended had seen.
	Wake, Handled int64
	// Suspension says why no pass runs; nil if one may.
	Suspension *Suspension
	// Stalled is the error after which the key is not tried again by itself: it
	// runs again after a change of its spec, an event or a request.
	Stalled string
}

// Suspension says who wants no pass for a resource, and why.
type Suspension struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Backlog counts queue rows and unfinished child runs.
type Backlog struct {
	Claimed, Ready, Delayed int
	// NextDue is when the earliest delayed row becomes ready; nil if none is.
	NextDue *time.Time
	// Waiting is how long the ready row that waits the longest has been due.
	Waiting time.Duration
	// Runs counts child runs that are running, or queued and due. NextDue is also
	// when the earliest delayed one becomes due.
	Runs int
}

// Claim is the right to run one pass, and what the pass starts from.
type Claim struct {
	Ref   Ref
	Token lease.Token
	// Wake is the wake-up count that the claim saw; a later one runs the key
	// again.
	Wake int64
	// Lane is that of the queue row, Waited how long ago the row became due.
	Lane   Lane
	Waited time.Duration
	// ConsecutiveErrors and Retries are those of the queue row before this pass.
	ConsecutiveErrors, Retries int
	Resource                   Raw
}

// Finish is how a pass ends.
type Finish struct {
	// Write is what the pass changes; nil (after an error) writes no resource.
	Write *Write
	// After is the delay of the requeue, 0 at once; Settle removes the row
	// instead, unless a wake-up arrived.
	Settle bool
	After  time.Duration
	Reason RequeueReason
	// Unsettled is the delay that replaces a settle if an effect of the
	// resource is unfinished.
	Unsettled time.Duration
	// Resync is the delay, in the background lane, that replaces a settle; zero
	// is none.
	Resync time.Duration
	// Err, if set, is stored as the last error and counts as one more.
	// KeepErrors leaves the counters as they were (stopped, conflict). Terminal
	// is a settle after which Err is kept as QueueRow.Stalled.
	Err        string
	KeepErrors bool
	Terminal   bool
	// Retry counts one more try that came to nothing and is no error.
	Retry bool
	// Pass identifies the pass in its event.
	Pass PassRecord
}

// PassRecord is what the event of a pass says beside its outcome.
type PassRecord struct {
	ReconcileID string
	Generation  int64
	Duration    time.Duration
	Type        EventType
}

// Write is the new state of a resource, compared and swapped on Version. The
// store keeps status.workflowRun as it is. That a child starts raises the version
// of the resource but is no conflict for the pass that runs; that the child it
// points to ends is one, because the pass decided without knowing.
type Write struct {
	Version            int64
	ObservedGeneration int64
	Conditions         []Condition
	ControllerStatus   json.RawMessage
	Finalizers         []string
}

// Finished is what Finish did.
type Finished struct {
	// Conflict says that the resource was newer: nothing of Write was stored
	// and the key runs again at once.
	Conflict bool
	// Deleted says that the resource is gone.
	Deleted bool
	// Requeued says that the key has a row again, why, and how long it waits.
	Requeued bool
	Reason   RequeueReason
	After    time.Duration
}

// Reservation says what ReserveEffect found.
type Reservation string

// The findings of ReserveEffect.
const (
	// EffectNew is a record made now, or one that a person has judged as not applied:
	// apply without observing.
	EffectNew Reservation = "new"
	// EffectFrozen is EffectNew while nothing is to be applied in the project:
	// CheckApply tells why.
	EffectFrozen Reservation = "frozen"
	// EffectOpen is an unfinished record: observe first.
	EffectOpen Reservation = "open"
	// EffectDone is a finished record: call nothing.
	EffectDone Reservation = "done"
)

// EffectReservation asks for the record of an effect.
type EffectReservation struct {
	Key, Kind          string
	Generation         int64
	RequestFingerprint string
	// Adopt has a new record observed before it is applied: it is EffectOpen.
	Adopt bool
	// ObserveOnly is for an effect that is never applied: it is EffectOpen until it
	// is finished.
	ObserveOnly bool
}

// EffectOutcome is what is known of an effect. A final state never changes.
type EffectOutcome struct {
	Key         string
	State       EffectState
	ExternalRef string
	Error       string
	// Outcome is that of the attempt; empty is the same as State.
	Outcome AttemptOutcome
	// Applies says that the pass goes on to apply the effect, which is recorded as
	// its next attempt.
	Applies bool
	// Event is recorded in the same transaction.
	Event EventType
}

// ChildReservation asks for the record of a child run.
type ChildReservation struct {
	RequestKey string
	Workflow   string
	Identity   WorkflowIdentity
	// Input is canonical JSON of at most MaxRequestBytes.
	Input json.RawMessage
	// RunID is used if an attempt is to start.
	RunID string
	// Version is the resource version that the pass holds.
	Version int64
	// Retry is what becomes of a request whose attempt was cut off; the zero Retry
	// starts the next attempt at once, without end.
	Retry ChildRetry
	// PerHour is how many attempts of the controller may start in an hour: so many at
	// once, and from then on one in each share of an hour. One that is too many
	// starts later, and has the code CodeChildRateLimited until then. Zero does not
	// bound them.
	PerHour int
	// AgentAttemptsPerHour is, from this attempt on, how many agent attempts of all
	// child runs of the controller CountAgentAttempt lets start in an hour. Zero does
	// not bound them.
	AgentAttemptsPerHour int
}

// ChildRetry bounds the attempts of a child request.
type ChildRetry struct {
	// MaxInterruptions, if set, is how many attempts may be cut off before the
	// request fails with CodeInterruptedTooOften.
	MaxInterruptions int
	// Backoff delays the attempt that follows, with Random from [0, 1).
	Backoff Backoff
	Random  float64
}

// Exhausted reports whether no attempt may follow after n were cut off.
func (r ChildRetry) Exhausted(n int) bool { return r.MaxInterruptions > 0 && n >= r.MaxInterruptions }

// Delay is the wait before the attempt after the n-th that was cut off.
func (r ChildRetry) Delay(n int) time.Duration {
	if n == 0 || r.Backoff.Base == 0 {
		return 0
	}
	return r.Backoff.Delay(n, r.Random)
}

// ChildReserved is what ReserveChild did to the resource.
type ChildReserved struct {
	// Started says that a new attempt was queued.
	Started bool
	// Version is the resource version that the pass goes on with.
	Version int64
	// WorkflowRun is the pointer in the status now.
	WorkflowRun *WorkflowRun
}

// ChildCancellation asks for the end of child requests.
type ChildCancellation struct {
	// Keep is the key of the request that goes on; empty keeps none.
	Keep string
	// Reason is for people; it is cut at MaxError.
	Reason string
	// Version is the resource version that the pass holds.
	Version int64
}

// ChildrenCancelled is what CancelChildren found and did.
type ChildrenCancelled struct {
	// Children are the requests that had not ended, but for the one that is kept, in
	// the order of their keys and as they are now: RunFailed with CodeCancelled, or with
	// CodeCancelling as long as a process has the run.
	Children []ChildRun
	// Version and WorkflowRun are as in ChildReserved.
	Version     int64
	WorkflowRun *WorkflowRun
}

// ChildOutcome is how a child attempt ended or stands.
type ChildOutcome struct {
	// State is succeeded, failed, interrupted or waiting.
	State RunState
	// Output is the final output of a succeeded or waiting run.
	Output json.RawMessage
	Error  string
	// Stopped says that the host stopped, which is no fault of an interrupted run.
	Stopped bool
}

// EventQuery selects events; empty fields select everything.
type EventQuery struct {
	Controller, Key string
	// After selects events after a cursor. Without it the newest are returned.
	After Cursor
	// Limit is 1 to 10,000; zero is 100.
	Limit int
}
