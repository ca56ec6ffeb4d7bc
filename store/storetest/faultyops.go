package storetest

import (
	"context"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// Put passes through.
func (s *Faulty) Put(ctx context.Context, p controller.Put) (controller.PutResult, error) {
	return through(s, "Put", func() (controller.PutResult, error) { return s.inner.Put(ctx, p) })
}

// Get passes through.
func (s *Faulty) Get(ctx context.Context, ref controller.Ref) (controller.Raw, error) {
	return through(s, "Get", func() (controller.Raw, error) { return s.inner.Get(ctx, ref) })
}

// List passes through.
func (s *Faulty) List(ctx context.Context, q controller.ListQuery) (controller.ListPage, error) {
	return through(s, "List", func() (controller.ListPage, error) { return s.inner.List(ctx, q) })
}

// RequestDeletion passes through.
func (s *Faulty) RequestDeletion(ctx context.Context, d controller.Deletion) (controller.DeletionResult, error) {
	return through(s, "RequestDeletion", func() (controller.DeletionResult, error) { return s.inner.RequestDeletion(ctx, d) })
}

// Enqueue passes through.
func (s *Faulty) Enqueue(ctx context.Context, ref controller.Ref, actor string) (int64, error) {
	return through(s, "Enqueue", func() (int64, error) { return s.inner.Enqueue(ctx, ref, actor) })
}

// Suspend passes through.
func (s *Faulty) Suspend(ctx context.Context, ref controller.Ref, actor, reason string) (bool, error) {
	return through(s, "Suspend", func() (bool, error) { return s.inner.Suspend(ctx, ref, actor, reason) })
}

// Unsuspend passes through.
func (s *Faulty) Unsuspend(ctx context.Context, ref controller.Ref, actor, reason string) (bool, error) {
	return through(s, "Unsuspend", func() (bool, error) { return s.inner.Unsuspend(ctx, ref, actor, reason) })
}

// RebuildQueue passes through.
func (s *Faulty) RebuildQueue(ctx context.Context) (int, error) {
	return through(s, "RebuildQueue", func() (int, error) { return s.inner.RebuildQueue(ctx) })
}

// Deliver passes through.
func (s *Faulty) Deliver(ctx context.Context, owner string, d controller.Delivery) (controller.DeliveryResult, error) {
	return through(s, "Deliver", func() (controller.DeliveryResult, error) { return s.inner.Deliver(ctx, owner, d) })
}

// SourceCursor passes through.
func (s *Faulty) SourceCursor(ctx context.Context, owner, source string) (string, error) {
	return through(s, "SourceCursor", func() (string, error) { return s.inner.SourceCursor(ctx, owner, source) })
}

// RecordSources passes through.
func (s *Faulty) RecordSources(ctx context.Context, list []controller.SourceStatus) error {
	return passing(s, "RecordSources", func() error { return s.inner.RecordSources(ctx, list) })
}

// Sources passes through.
func (s *Faulty) Sources(ctx context.Context) ([]controller.SourceStatus, error) {
	return through(s, "Sources", func() ([]controller.SourceStatus, error) { return s.inner.Sources(ctx) })
}

// Claim passes through.
func (s *Faulty) Claim(ctx context.Context, controllers []string, d time.Duration) (*controller.Claim, error) {
	return through(s, "Claim", func() (*controller.Claim, error) { return s.inner.Claim(ctx, controllers, d) })
}

// WaitDue passes through.
func (s *Faulty) WaitDue(ctx context.Context, controllers []string) error {
	return passing(s, "WaitDue", func() error { return s.inner.WaitDue(ctx, controllers) })
}

// Renew passes through.
func (s *Faulty) Renew(ctx context.Context, c *controller.Claim, d time.Duration) error {
	return passing(s, "Renew", func() error { return s.inner.Renew(ctx, c, d) })
}

// Finish passes through.
func (s *Faulty) Finish(ctx context.Context, c *controller.Claim, f controller.Finish) (controller.Finished, error) {
	return through(s, "Finish", func() (controller.Finished, error) { return s.inner.Finish(ctx, c, f) })
}

// FinishAndClaim passes through. A store without it does the one after the other.
func (s *Faulty) FinishAndClaim(
	ctx context.Context, c *controller.Claim, f controller.Finish, controllers []string, d time.Duration,
) (controller.Finished, *controller.Claim, error) {
	var next *controller.Claim
	got, err := through(s, "FinishAndClaim", func() (got controller.Finished, err error) {
		if both, ok := s.inner.(controller.FinishClaimer); ok {
			got, next, err = both.FinishAndClaim(ctx, c, f, controllers, d)
			return got, err
		}
		if got, err = s.inner.Finish(ctx, c, f); err == nil {
			next, _ = s.inner.Claim(ctx, controllers, d) // whoever needs one asks again
		}
		return got, err
	})
	if err != nil {
		next = nil
	}
	return got, next, err
}

// ReserveEffect passes through.
func (s *Faulty) ReserveEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectReservation,
) (controller.EffectRecord, controller.Reservation, error) {
	var found controller.Reservation
	got, err := through(s, "ReserveEffect", func() (got controller.EffectRecord, err error) {
		got, found, err = s.inner.ReserveEffect(ctx, c, e)
		return got, err
	})
	return got, found, err
}

// FinishEffect passes through.
func (s *Faulty) FinishEffect(
	ctx context.Context, c *controller.Claim, e controller.EffectOutcome,
) (controller.EffectRecord, error) {
	return through(s, "FinishEffect", func() (controller.EffectRecord, error) { return s.inner.FinishEffect(ctx, c, e) })
}

// CheckApply passes through.
func (s *Faulty) CheckApply(ctx context.Context, c *controller.Claim) error {
	return passing(s, "CheckApply", func() error { return s.inner.CheckApply(ctx, c) })
}

// Effects passes through.
func (s *Faulty) Effects(ctx context.Context, ref controller.Ref) ([]controller.EffectRecord, error) {
	return through(s, "Effects", func() ([]controller.EffectRecord, error) { return s.inner.Effects(ctx, ref) })
}

// ListEffects passes through.
func (s *Faulty) ListEffects(ctx context.Context, q controller.EffectQuery) ([]controller.EffectItem, error) {
	return through(s, "ListEffects", func() ([]controller.EffectItem, error) { return s.inner.ListEffects(ctx, q) })
}

// EffectAttempts passes through.
func (s *Faulty) EffectAttempts(
	ctx context.Context, ref controller.Ref, effect string,
) ([]controller.EffectAttempt, error) {
	return through(s, "EffectAttempts", func() ([]controller.EffectAttempt, error) { return s.inner.EffectAttempts(ctx, ref, effect) })
}

// PruneEffects passes through.
func (s *Faulty) PruneEffects(ctx context.Context, p controller.EffectPruning) (int, error) {
	return through(s, "PruneEffects", func() (int, error) { return s.inner.PruneEffects(ctx, p) })
}

// PruneEvents passes through.
func (s *Faulty) PruneEvents(ctx context.Context, p controller.EventPruning) (int, error) {
	return through(s, "PruneEvents", func() (int, error) { return s.inner.PruneEvents(ctx, p) })
}

// PruneDeliveries passes through.
func (s *Faulty) PruneDeliveries(ctx context.Context, p controller.DeliveryPruning) (int, error) {
	return through(s, "PruneDeliveries", func() (int, error) { return s.inner.PruneDeliveries(ctx, p) })
}

// ResolveEffect passes through.
func (s *Faulty) ResolveEffect(
	ctx context.Context, ref controller.Ref, v controller.Verdict,
) (controller.EffectRecord, error) {
	return through(s, "ResolveEffect", func() (controller.EffectRecord, error) { return s.inner.ResolveEffect(ctx, ref, v) })
}

// Freeze passes through.
func (s *Faulty) Freeze(ctx context.Context, actor, reason string) (bool, error) {
	return through(s, "Freeze", func() (bool, error) { return s.inner.Freeze(ctx, actor, reason) })
}

// Unfreeze passes through.
func (s *Faulty) Unfreeze(ctx context.Context, actor, reason string) (bool, error) {
	return through(s, "Unfreeze", func() (bool, error) { return s.inner.Unfreeze(ctx, actor, reason) })
}

// Frozen passes through.
func (s *Faulty) Frozen(ctx context.Context) (*controller.Suspension, error) {
	return through(s, "Frozen", func() (*controller.Suspension, error) { return s.inner.Frozen(ctx) })
}

// MarkRestored passes through.
func (s *Faulty) MarkRestored(ctx context.Context, r controller.Restoration) error {
	return passing(s, "MarkRestored", func() error { return s.inner.MarkRestored(ctx, r) })
}

// AcceptRestored passes through.
func (s *Faulty) AcceptRestored(ctx context.Context, actor, reason string) (bool, error) {
	return through(s, "AcceptRestored", func() (bool, error) { return s.inner.AcceptRestored(ctx, actor, reason) })
}

// Restored passes through.
func (s *Faulty) Restored(ctx context.Context) (*controller.Restoration, error) {
	return through(s, "Restored", func() (*controller.Restoration, error) { return s.inner.Restored(ctx) })
}

// RecordDefinitions passes through.
func (s *Faulty) RecordDefinitions(ctx context.Context, list []controller.DefinitionRecord) (int, error) {
	return through(s, "RecordDefinitions", func() (int, error) { return s.inner.RecordDefinitions(ctx, list) })
}

// Definitions passes through.
func (s *Faulty) Definitions(ctx context.Context) ([]controller.DefinitionRecord, error) {
	return through(s, "Definitions", func() ([]controller.DefinitionRecord, error) { return s.inner.Definitions(ctx) })
}

// QueueNotices passes through.
func (s *Faulty) QueueNotices(ctx context.Context, hook string, list []controller.Notice, next controller.Cursor) error {
	return passing(s, "QueueNotices", func() error { return s.inner.QueueNotices(ctx, hook, list, next) })
}

// NoticeCursor passes through.
func (s *Faulty) NoticeCursor(ctx context.Context, hook string) (controller.Cursor, error) {
	return through(s, "NoticeCursor", func() (controller.Cursor, error) { return s.inner.NoticeCursor(ctx, hook) })
}

// Notices passes through.
func (s *Faulty) Notices(ctx context.Context, hook string, limit int) ([]controller.Notice, error) {
	return through(s, "Notices", func() ([]controller.Notice, error) { return s.inner.Notices(ctx, hook, limit) })
}

// EndNotice passes through.
func (s *Faulty) EndNotice(ctx context.Context, hook, id string, e controller.NoticeEnd) error {
	return passing(s, "EndNotice", func() error { return s.inner.EndNotice(ctx, hook, id, e) })
}

// ReserveChild passes through.
func (s *Faulty) ReserveChild(
	ctx context.Context, c *controller.Claim, r controller.ChildReservation,
) (controller.ChildRun, controller.ChildReserved, error) {
	var found controller.ChildReserved
	got, err := through(s, "ReserveChild", func() (got controller.ChildRun, err error) {
		got, found, err = s.inner.ReserveChild(ctx, c, r)
		return got, err
	})
	return got, found, err
}

// CancelChildren passes through.
func (s *Faulty) CancelChildren(
	ctx context.Context, c *controller.Claim, r controller.ChildCancellation,
) (controller.ChildrenCancelled, error) {
	return through(s, "CancelChildren", func() (controller.ChildrenCancelled, error) { return s.inner.CancelChildren(ctx, c, r) })
}

// StartChild passes through.
func (s *Faulty) StartChild(ctx context.Context, run *runqueue.Claim) error {
	return passing(s, "StartChild", func() error { return s.inner.StartChild(ctx, run) })
}

// CountAgentAttempt passes through.
func (s *Faulty) CountAgentAttempt(ctx context.Context, run *runqueue.Claim) (time.Duration, error) {
	return through(s, "CountAgentAttempt", func() (time.Duration, error) { return s.inner.CountAgentAttempt(ctx, run) })
}

// FinishChild passes through.
func (s *Faulty) FinishChild(ctx context.Context, run *runqueue.Claim, o controller.ChildOutcome) error {
	return passing(s, "FinishChild", func() error { return s.inner.FinishChild(ctx, run, o) })
}

// Children passes through.
func (s *Faulty) Children(ctx context.Context, ref controller.Ref) ([]controller.ChildRun, error) {
	return through(s, "Children", func() ([]controller.ChildRun, error) { return s.inner.Children(ctx, ref) })
}

// Queue passes through.
func (s *Faulty) Queue(ctx context.Context, ref controller.Ref) (controller.QueueRow, error) {
	return through(s, "Queue", func() (controller.QueueRow, error) { return s.inner.Queue(ctx, ref) })
}

// Backlog passes through.
func (s *Faulty) Backlog(ctx context.Context, controllers []string) (controller.Backlog, error) {
	return through(s, "Backlog", func() (controller.Backlog, error) { return s.inner.Backlog(ctx, controllers) })
}

// Events passes through.
func (s *Faulty) Events(ctx context.Context, q controller.EventQuery) ([]controller.Event, error) {
	return through(s, "Events", func() ([]controller.Event, error) { return s.inner.Events(ctx, q) })
}

// Head passes through.
func (s *Faulty) Head(ctx context.Context) (controller.Cursor, error) {
	return through(s, "Head", func() (controller.Cursor, error) { return s.inner.Head(ctx) })
}

// Changes passes through.
func (s *Faulty) Changes(
	ctx context.Context, after controller.Cursor, f controller.ChangeFilter,
) (controller.Changes, error) {
	return through(s, "Changes", func() (controller.Changes, error) { return s.inner.Changes(ctx, after, f) })
}

// Launch passes through.
func (s *Faulty) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (*runqueue.Claim, error) {
	return through(s, "Launch", func() (*runqueue.Claim, error) { return s.inner.Launch(ctx, r, d) })
}

// AdoptRun passes through.
func (s *Faulty) AdoptRun(ctx context.Context, runID, root string, d time.Duration) (*runqueue.Claim, error) {
	return through(s, "AdoptRun", func() (*runqueue.Claim, error) { return s.inner.AdoptRun(ctx, runID, root, d) })
}

// ParkRun passes through.
func (s *Faulty) ParkRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return passing(s, "ParkRun", func() error { return s.inner.ParkRun(ctx, c, reason) })
}

// FinishRun passes through.
func (s *Faulty) FinishRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	return passing(s, "FinishRun", func() error { return s.inner.FinishRun(ctx, c, status, message) })
}

// AwaitAnswer passes through.
func (s *Faulty) AwaitAnswer(ctx context.Context, c *runqueue.Claim) error {
	return passing(s, "AwaitAnswer", func() error { return s.inner.AwaitAnswer(ctx, c) })
}

// AbandonRun passes through.
func (s *Faulty) AbandonRun(ctx context.Context, c *runqueue.Claim, status runqueue.Status, message string) error {
	return passing(s, "AbandonRun", func() error { return s.inner.AbandonRun(ctx, c, status, message) })
}

// WithdrawRun passes through.
func (s *Faulty) WithdrawRun(ctx context.Context, runID, message string) error {
	return passing(s, "WithdrawRun", func() error { return s.inner.WithdrawRun(ctx, runID, message) })
}

// ClaimRun passes through.
func (s *Faulty) ClaimRun(ctx context.Context, q runqueue.ClaimQuery, d time.Duration) (*runqueue.Claim, error) {
	return through(s, "ClaimRun", func() (*runqueue.Claim, error) { return s.inner.ClaimRun(ctx, q, d) })
}

// WaitRuns passes through.
func (s *Faulty) WaitRuns(ctx context.Context, q runqueue.ClaimQuery) error {
	return passing(s, "WaitRuns", func() error { return s.inner.WaitRuns(ctx, q) })
}

// RenewRun passes through.
func (s *Faulty) RenewRun(ctx context.Context, c *runqueue.Claim, d time.Duration) error {
	return passing(s, "RenewRun", func() error { return s.inner.RenewRun(ctx, c, d) })
}

// CheckRun passes through.
func (s *Faulty) CheckRun(ctx context.Context, c *runqueue.Claim) error {
	return passing(s, "CheckRun", func() error { return s.inner.CheckRun(ctx, c) })
}

// RefuseRun passes through.
func (s *Faulty) RefuseRun(ctx context.Context, c *runqueue.Claim, reason string) error {
	return passing(s, "RefuseRun", func() error { return s.inner.RefuseRun(ctx, c, reason) })
}

// ReconsiderRuns passes through.
func (s *Faulty) ReconsiderRuns(ctx context.Context) error {
	return passing(s, "ReconsiderRuns", func() error { return s.inner.ReconsiderRuns(ctx) })
}

// ClaimWorkers passes through.
func (s *Faulty) ClaimWorkers(ctx context.Context, token lease.Token, d time.Duration) (runqueue.Workers, error) {
	return through(s, "ClaimWorkers", func() (runqueue.Workers, error) { return s.inner.ClaimWorkers(ctx, token, d) })
}

// ReleaseWorkers passes through.
func (s *Faulty) ReleaseWorkers(ctx context.Context, token lease.Token) error {
	return passing(s, "ReleaseWorkers", func() error { return s.inner.ReleaseWorkers(ctx, token) })
}

// Workers passes through.
func (s *Faulty) Workers(ctx context.Context) (runqueue.Workers, error) {
	return through(s, "Workers", func() (runqueue.Workers, error) { return s.inner.Workers(ctx) })
}

// WaitWorkers passes through.
func (s *Faulty) WaitWorkers(ctx context.Context) error {
	return passing(s, "WaitWorkers", func() error { return s.inner.WaitWorkers(ctx) })
}

// QueueRun passes through.
func (s *Faulty) QueueRun(ctx context.Context, r runqueue.NewRun) error {
	return passing(s, "QueueRun", func() error { return s.inner.QueueRun(ctx, r) })
}

// OrderRun passes through.
func (s *Faulty) OrderRun(ctx context.Context, runID string, o runqueue.Order, reason string) (runqueue.Row, error) {
	return through(s, "OrderRun", func() (runqueue.Row, error) { return s.inner.OrderRun(ctx, runID, o, reason) })
}

// AwaitRun passes through.
func (s *Faulty) AwaitRun(ctx context.Context, seen runqueue.Row) (runqueue.Row, error) {
	return through(s, "AwaitRun", func() (runqueue.Row, error) { return s.inner.AwaitRun(ctx, seen) })
}

// Run passes through.
func (s *Faulty) Run(ctx context.Context, runID string) (runqueue.Row, error) {
	return through(s, "Run", func() (runqueue.Row, error) { return s.inner.Run(ctx, runID) })
}

// Runs passes through.
func (s *Faulty) Runs(ctx context.Context, q runqueue.Query) ([]runqueue.Row, error) {
	return through(s, "Runs", func() ([]runqueue.Row, error) { return s.inner.Runs(ctx, q) })
}

// Close passes through, and no hook is called.
func (s *Faulty) Close() error { return s.inner.Close() }

// EndedRuns passes through.
func (s *Faulty) EndedRuns(ctx context.Context, q runqueue.EndedQuery) (runqueue.EndedPage, error) {
	return through(s, "EndedRuns", func() (runqueue.EndedPage, error) { return s.inner.EndedRuns(ctx, q) })
}

// ForgetRun passes through.
func (s *Faulty) ForgetRun(ctx context.Context, runID string) (bool, error) {
	return through(s, "ForgetRun", func() (bool, error) { return s.inner.ForgetRun(ctx, runID) })
}
