// Package runqueue is the contract of the durable queue of workflow runs:
// every run, interactive or child, is one row of it. Claims carry a lease and a
// fence; whoever runs a bundle asks before each consequential step whether its
// claim still holds. The states of a row are drawn in docs/state-machines.md.
package runqueue

import (
	"context"
	"encoding/json"
	"time"

	"piworkflows/lease"
)

// Status is the state of a row.
type Status string

// The states of a row. Done says that nobody has to run it any more; how the
// run ended is in its bundle.
const (
	// Queued rows wait for a runner.
	Queued Status = "queued"
	// Running rows have, or had, a runner; see Row.Interrupted.
	Running Status = "running"
	// Parked rows wait for somebody to resume their bundle.
	Parked Status = "parked"
	// Done, Failed and Cancelled are final.
	Done      Status = "done"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the row is never claimed again.
func (s Status) Final() bool { return s == Done || s == Failed || s == Cancelled }

// Row is one run.
type Row struct {
	RunID string
	// Workflow is the name under which the run was asked for.
	Workflow string
	// Source and Digest pin the definition (see workflow.Graph).
	Source json.RawMessage
	Digest string
	// Input is the run input; null once the row is final.
	Input  json.RawMessage
	Status Status
	// Detached says that the run belongs to no terminal: any host may take it up.
	Detached bool
	// Paused says that somebody wants the run to hold before its next step. A host
	// takes up no run that is paused.
	Paused bool
	// Root is the ID of the runs root that holds its bundle, if there is one; empty
	// before anybody has claimed the run.
	Root string
	// ChildOf is the request ID of a child run; empty for an interactive one.
	ChildOf string
	// Attempt counts the attempts of a child request from one.
	Attempt int
	// ContinuationOf is the run whose answer started this one, ContinuedBy the run
	// that an answer to this one started; empty if there is none.
	ContinuationOf, ContinuedBy string
	// Holder names, for people, the process whose claim on the row lives; empty
	// if nobody holds it. A process that died may be named until its store is
	// opened, or the row adopted, by another one, or until its lease ends.
	Holder string
	// CancelReason says why whoever runs the row is to cancel it; empty if nobody
	// wants that.
	CancelReason string
	// Error tells why a row failed, was cancelled or was parked.
	Error                string
	CreatedAt, UpdatedAt time.Time
}

// Interrupted reports whether the owner of the run went away in the middle of it.
func (r Row) Interrupted() bool { return r.Status == Running && r.Holder == "" }

// NewRun describes an interactive run.
type NewRun struct {
	RunID, Workflow string
	Source          json.RawMessage
	Digest          string
	Input           json.RawMessage
	// ContinuationOf makes the run the one continuation of a run that waits.
	ContinuationOf string
	// Root is that of Row; the continuation of a run lies beside it.
	Root string
}

// ClaimQuery says what ClaimRun looks for. The zero query is for child runs,
// wherever their bundles are.
type ClaimQuery struct {
	// Detached is for detached runs instead of child runs: those that are queued or
	// parked, and those whose owner is gone, unless they are paused, or the caller
	// has refused them.
	Detached bool
	// Root is the ID of the runs root of the caller. Runs of another one are left
	// alone, unless their owner is gone: then somebody has to say so. It becomes the
	// root of a run that has none. Empty takes all.
	Root string
}

// Order is what somebody wants of a run that is open.
type Order string

// The orders.
const (
	// OrderPause lets the run hold before its next step, OrderGo lets it go on.
	OrderPause Order = "pause"
	OrderGo    Order = "go"
	// OrderCancel asks the process that runs the run to cancel it. Nothing happens
	// if there is none: the caller can adopt the run and cancel it.
	OrderCancel Order = "cancel"
	// OrderDetach gives a run that nobody runs to the hosts, and lifts a pause.
	OrderDetach Order = "detach"
)

// Claim is the right to run one row.
type Claim struct {
	Row   Row
	Token lease.Token
	Fence lease.Fence
	// Interrupted says that the row was running under an owner that is gone, so
	// that a bundle of it may exist.
	Interrupted bool
}

// Query selects rows; an empty Status selects all.
type Query struct {
	Status Status
	// Limit is 1 to 1000; zero is 100. The newest come first.
	Limit int
	// Before goes on after a page: only runs that are older than the one with this ID.
	// A run that is not there any more has none.
	Before string
}

// Store queues runs. Every operation is one transaction; writes that carry a
// claim are refused with a *lease.LostError once it no longer holds.
type Store interface {
	Interactive
	Retention
	WorkersLock
	// ClaimRun takes the oldest run of a query that is queued, or running without a
	// live claim, or parked and detached. It returns nil if there is none.
	ClaimRun(ctx context.Context, q ClaimQuery, d time.Duration) (*Claim, error)
	// WaitRuns returns once ClaimRun may find a row, or ctx ended.
	WaitRuns(ctx context.Context, q ClaimQuery) error
	// RenewRun extends a claim by d from now.
	RenewRun(ctx context.Context, c *Claim, d time.Duration) error
	// CheckRun returns a *lease.LostError if the claim no longer holds.
	CheckRun(ctx context.Context, c *Claim) error
	// AwaitRun returns a row once its state, its holder, or what is wanted of it is
	// another than in the row that the caller has seen. A row that is gone is a
	// *NotFoundError.
	AwaitRun(ctx context.Context, seen Row) (Row, error)
	// Run returns one row, a *NotFoundError if there is none.
	Run(ctx context.Context, runID string) (Row, error)
	// Runs lists rows.
	Runs(ctx context.Context, q Query) ([]Row, error)
}

// Workers says who runs the workers of a project: its passes, child runs, detached
// runs and sources. Claims keep two processes from doing the same work; this keeps
// them from competing for it.
type Workers struct {
	// Holder names, for people, the process that has them, since Since; empty if
	// nobody has.
	Holder string
	Since  time.Time
	// Ours says that they are held with the token that was given.
	Ours bool
}

// Retention is the part of Store for runs that are over.
type Retention interface {
	// EndedRuns lists runs whose rows are final, the newest first.
	EndedRuns(ctx context.Context, q EndedQuery) (EndedPage, error)
	// ForgetRun removes the row of a run that has ended and is not needed, and
	// reports whether it did; its bundle is removed before. A run that was continued
	// goes before its continuation, or it could be continued once more.
	ForgetRun(ctx context.Context, runID string) (bool, error)
}

// WorkersLock is the part of Store that says which process runs the workers.
type WorkersLock interface {
	// ClaimWorkers takes the workers of the project for d if nobody has them, or
	// renews them if they are held with that token, and says who has them then.
	ClaimWorkers(ctx context.Context, token lease.Token, d time.Duration) (Workers, error)
	// ReleaseWorkers gives back what is held with a token; if it is not any more
	// nothing happens.
	ReleaseWorkers(ctx context.Context, token lease.Token) error
	// Workers says who has the workers.
	Workers(ctx context.Context) (Workers, error)
	// WaitWorkers returns once nobody has the workers, or ctx ended.
	WaitWorkers(ctx context.Context) error
}

// EndedQuery selects runs that have ended.
type EndedQuery struct {
	// Limit is 1 to 1000; zero is 100.
	Limit int
	// Continue is the Continue of the page before.
	Continue string
}

// EndedPage is one page of runs that have ended.
type EndedPage struct {
	Runs []EndedRun
	// Continue is empty on the last page.
	Continue string
}

// EndedRun is what retention has to know of a run.
type EndedRun struct {
	RunID, Workflow string
	Status          Status
	// EndedAt is when the row became final.
	EndedAt time.Time
	// Needed says that the record is needed: by a continuation that has not ended,
	// or by a child request that has not come to its end.
	Needed bool
	// ContinuationOf is as in Row; Continued says that there is a continuation.
	ContinuationOf string
	Continued      bool
}

// Interactive is the part of Store for runs that belong to people. It refuses a
// child run with a *ChildRunError: its controller decides about it, and has to
// hear of its end in the same transaction. Only its questions are for people: the
// continuation of a child run is launched here, becomes the child run, and ends
// with controller.Store.FinishChild.
type Interactive interface {
	Refusals
	// Launch inserts a run that the caller runs itself, already claimed and
	// running. A continuation is refused with a *ContinuedError if its parent has
	// another one, with a *NotWaitingError unless the parent is done and, if it is a
	// child run, its request waits for it, with a *NotFoundError if there is no such
	// parent.
	Launch(ctx context.Context, r NewRun, d time.Duration) (*Claim, error)
	// QueueRun is Launch for a run that a host is to run: it is queued and detached.
	QueueRun(ctx context.Context, r NewRun) error
	// AdoptRun claims one run that nobody runs: a queued or parked one, or one whose
	// owner is gone. It is detached and paused no more, and root is its root if it
	// had none. A *HeldError names the owner while it lives; a final row is an
	// *EndedError.
	AdoptRun(ctx context.Context, runID, root string, d time.Duration) (*Claim, error)
	// OrderRun says what somebody wants of an open run, with a reason if it is to be
	// cancelled, and returns its row. A final row is an *EndedError. To detach a run
	// that somebody runs is a *HeldError.
	OrderRun(ctx context.Context, runID string, o Order, reason string) (Row, error)
	// ParkRun gives a run back: its bundle can be resumed. A reason tells why, if
	// that was not wanted.
	ParkRun(ctx context.Context, c *Claim, reason string) error
	// FinishRun ends a run.
	FinishRun(ctx context.Context, c *Claim, s Status, message string) error
	// AwaitAnswer is FinishRun for a run that waits for an answer: its row is done, and a
	// continuation goes on. A detached run leaves an event, as nobody may be looking.
	AwaitAnswer(ctx context.Context, c *Claim) error
	// AbandonRun is FinishRun for a run that never began, which has no bundle. If
	// it was a continuation, also one of a child run, its parent may be continued
	// again.
	AbandonRun(ctx context.Context, c *Claim, s Status, message string) error
	// WithdrawRun cancels a run that is done, so that it cannot be continued any
	// more. One that was continued is a *ContinuedError, one that is not done a
	// *NotWaitingError.
	WithdrawRun(ctx context.Context, runID, message string) error
}

// Refusals is the part of Interactive for detached runs that a host cannot go on
// with.
type Refusals interface {
	// RefuseRun is Interactive.ParkRun for a detached run that the caller cannot go on with: it
	// does not claim it again until the run is detached anew, or ReconsiderRuns.
	RefuseRun(ctx context.Context, c *Claim, reason string) error
	// ReconsiderRuns forgets what the caller has refused: its definitions changed.
	ReconsiderRuns(ctx context.Context) error
}
