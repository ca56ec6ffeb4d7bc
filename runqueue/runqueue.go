// Package runqueue is the contract of the durable queue of workflow runs:
// every run, interactive or child, is one row of it. Claims carry a lease and a
// fence; whoever runs a bundle asks before each consequential step whether its
// claim still holds.
package runqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// Running rows have, or had, a runner; without a live claim the run was
	// interrupted.
	Running Status = "running"
	// Parked rows wait for a runner to resume their bundle.
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
	// ChildOf is the request ID of a child run; empty for an interactive one.
	ChildOf string
	// Attempt counts the attempts of a child request from one.
	Attempt int
	// Error tells why a failed row failed.
	Error                string
	CreatedAt, UpdatedAt time.Time
}

// NewRun describes an interactive run.
type NewRun struct {
	RunID, Workflow string
	Source          json.RawMessage
	Digest          string
	Input           json.RawMessage
}

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
}

// Store queues runs. Every operation is one transaction; writes that carry a
// claim are refused with a *lease.LostError once it no longer holds.
type Store interface {
	// Launch inserts an interactive run that the caller runs itself, already
	// claimed and running.
	Launch(ctx context.Context, r NewRun, d time.Duration) (*Claim, error)
	// ClaimRun takes the oldest row that is queued, or running without a live
	// claim. It returns nil if there is none. Children only for now: an
	// interactive run belongs to the process that launched it.
	ClaimRun(ctx context.Context, d time.Duration) (*Claim, error)
	// WaitRuns returns once ClaimRun may find a row, or ctx ended.
	WaitRuns(ctx context.Context) error
	// RenewRun extends a claim by d from now.
	RenewRun(ctx context.Context, c *Claim, d time.Duration) error
	// CheckRun returns a *lease.LostError if the claim no longer holds.
	CheckRun(ctx context.Context, c *Claim) error
	// FinishRun ends an interactive run. A child is refused with ErrChildRun:
	// its parent has to hear of it in the same transaction.
	FinishRun(ctx context.Context, c *Claim, s Status, message string) error
	// Run returns one row, a *NotFoundError if there is none.
	Run(ctx context.Context, runID string) (Row, error)
	// Runs lists rows.
	Runs(ctx context.Context, q Query) ([]Row, error)
}

// ErrChildRun refuses to finish a child run through the queue.
var ErrChildRun = errors.New("a child run is finished through its controller store, together with its parent")

// NotFoundError says that no row has that run ID.
type NotFoundError struct{ RunID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no run has the ID %.200q: list them with runs", e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NotFoundError) ErrorCode() string { return "run_not_found" }
