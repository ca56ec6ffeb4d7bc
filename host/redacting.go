package host

import (
	"context"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
	"piworkflows/secret"
)

type (
	resources = controller.Store
	runs      = runqueue.Store
)

// redacting keeps the secrets of this process out of a store; see
// controller.Redacting, which does the same for resources alone.
type redacting struct {
	resources
	runs
}

func redacted(s Store) Store { return redacting{controller.Redacting(s), s} }

// Launch implements runqueue.Store. The input decides what the run does, so it is
// refused instead of masked.
func (s redacting) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (*runqueue.Claim, error) {
	if err := secret.Check("run input", r.Input); err != nil {
		return nil, err
	}
	return s.runs.Launch(ctx, r, d)
}

// QueueRun implements runqueue.Store, like Launch.
func (s redacting) QueueRun(ctx context.Context, r runqueue.NewRun) error {
	if err := secret.Check("run input", r.Input); err != nil {
		return err
	}
	return s.runs.QueueRun(ctx, r)
}

// OrderRun implements runqueue.Store.
func (s redacting) OrderRun(ctx context.Context, runID string, o runqueue.Order, reason string) (runqueue.Row, error) {
	return s.runs.OrderRun(ctx, runID, o, secret.Redact(reason))
}

// ParkRun implements runqueue.Store.
func (s redacting) ParkRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return s.runs.ParkRun(ctx, c, secret.Redact(reason))
}

// RefuseRun implements runqueue.Store.
func (s redacting) RefuseRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return s.runs.RefuseRun(ctx, c, secret.Redact(reason))
}

// FinishRun implements runqueue.Store.
func (s redacting) FinishRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	return s.runs.FinishRun(ctx, c, status, secret.Redact(message))
}

// AwaitAnswer implements runqueue.Store.
func (s redacting) AwaitAnswer(ctx context.Context, c *runqueue.Claim) error {
	return s.runs.AwaitAnswer(ctx, c)
}

// AbandonRun implements runqueue.Store.
func (s redacting) AbandonRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	return s.runs.AbandonRun(ctx, c, status, secret.Redact(message))
}
