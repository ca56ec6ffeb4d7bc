package host

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// Bounds of the run workers.
const (
	// DefaultRuns is the number of child runs at once, and of detached runs beside
	// them.
	DefaultRuns = 4
	// storeRetry is the wait after an operation of the store failed.
	storeRetry = time.Second
)

// reasonStopped is the error of a run that ended because its host did.
const reasonStopped = "the host stopped before the run ended"

// reasonOwnerGone is the error of a run whose process is gone.
const reasonOwnerGone = "the process that ran it is gone"

// runner turns queue rows of child runs into engine runs. It owns every
// goroutine that it starts: run returns after all of them.
type runner struct {
	store Store
	// engine makes the engine of one run.
	engine  func(*runqueue.Claim) *engine.Engine
	catalog *Catalog
	clock   clock.Clock
	log     *slog.Logger
	ground  ground
	records controller.Observer
	runs    string
	// root is the ID of the folder runs.
	root    string
	limit   int
	lasts   time.Duration
	observe func(RunEvent)
	// active counts the runs that are under way.
	active atomic.Int64
	// storeFailed is told of errors of the store.
	storeFailed func(error)
	// endLeftovers ends the commands of processes that are dead.
	endLeftovers func(context.Context)
}

func newRunner(o Options, store Store, root string, storeFailed func(error)) *runner {
	return &runner{
		store: store, engine: o.childEngine(store), catalog: o.Catalog, clock: o.Clock, log: o.Logger, records: o.observers(),
		ground: o.ground(), runs: o.Runs, root: root, limit: o.ChildRuns, lasts: o.Lease, observe: o.Observe, storeFailed: storeFailed,
		endLeftovers: func(ctx context.Context) { o.endLeftovers(ctx, false) },
	}
}

// run claims and runs rows until ctx ends, then interrupts what still runs and
// waits for it.
func (r *runner) run(ctx context.Context) {
	c := claims{r.store, r.clock, r.log, r.lasts, r.storeFailed}
	query := runqueue.ClaimQuery{Root: r.root}
	inParallel(ctx, r.limit,
		func() *runqueue.Claim { return c.next(ctx, query, func(bool) {}) },
		func(claim *runqueue.Claim) { r.execute(ctx, claim) })
}

// execute brings one claimed row to its end. ctx ends when the host stops; the
// claim is kept beyond that until the end is recorded.
func (r *runner) execute(ctx context.Context, claim *runqueue.Claim) {
	r.active.Add(1)
	defer r.active.Add(-1)
	held, release := lease.Keep(context.WithoutCancel(ctx), lease.Renewal{
		Clock: r.clock,
		Every: r.lasts / renewals, Lasts: r.lasts,
		Renew: func(ctx context.Context) error { return r.store.RenewRun(ctx, claim, r.lasts) },
	})
	defer release()
	r.ground.await(ctx, held, claim.Row.RunID)
	outcome, err := r.outcome(ctx, held, claim)
	switch {
	case isUnborn(err):
		reason := err.Error()
		err = r.insist(ctx, held, claim, func() error {
			return r.store.AbandonRun(held, claim, runqueue.Failed, reason)
		})
	case err == nil:
		err = r.finish(ctx, held, claim, outcome)
	}
	switch {
	case errors.Is(err, lease.ErrLost):
		r.records.Observe(controller.ChildLost{ChildInfo: infoOf(claim.Row), Err: err})
	case err != nil:
		// The row stays claimed until its lease ends; then the run is looked at
		// again. That is its backoff.
		r.log.Error("the run was not brought to its end; it is tried again", "runId", claim.Row.RunID, "error", err)
	default:
		r.tell(claim.Row, outcome)
	}
}

// tell tells of the new state of a run.
func (r *runner) tell(row runqueue.Row, o controller.ChildOutcome) {
	r.records.Observe(controller.ChildChanged{ChildInfo: infoOf(row), State: o.State, Err: o.Error})
}

func infoOf(row runqueue.Row) controller.ChildInfo {
	return controller.ChildInfo{RequestID: row.ChildOf, RunID: row.RunID, Workflow: row.Workflow, Attempt: row.Attempt}
}

// outcome finds how the attempt ended: from the bundle that a dead owner left,
// or by running it. An error leaves the row as it is.
func (r *runner) outcome(ctx, held context.Context, claim *runqueue.Claim) (controller.ChildOutcome, error) {
	if claim.Interrupted {
		if left, settled, err := r.left(held, claim); err != nil || settled {
			return left, err
		}
	}
	if reason := claim.Row.CancelReason; reason != "" {
		return failed(errors.New(reason)), nil
	}
	graph, refusal := r.graph(claim.Row)
	if refusal != nil {
		return *refusal, nil
	}
	if ended(ctx) {
		return stopped(), nil
	}
	cancelled, stopWatching := r.watchCancel(held, claim)
	defer stopWatching()
	err := r.insist(ctx, held, claim, func() error { return r.store.StartChild(held, claim) })
	if err != nil {
		return controller.ChildOutcome{}, err
	}
	r.tell(claim.Row, controller.ChildOutcome{State: controller.RunRunning})
	run, err := r.start(ctx, held, graph, claim)
	switch {
	case err != nil && ended(ctx):
		return stopped(), nil
	case err != nil && claim.Row.ContinuationOf != "" && !isRecordError(err):
		return controller.ChildOutcome{}, &unbornError{reason: err.Error()}
	case err != nil:
		return refusedStart(err)
	}
	result := await(ctx, held, cancelled, run)
	outcome := outcomeOf(result)
	outcome.Stopped = ended(ctx)
	return outcome, result.Err
}

// left is what a dead owner left of the attempt; it may have left nothing that settles
// it.
func (r *runner) left(held context.Context, claim *runqueue.Claim) (o controller.ChildOutcome, settled bool, err error) {
	r.endLeftovers(held)
	if claim.Row.Root != r.root {
		return interrupted(reasonUnreachable), true, nil
	}
	o, found, err := r.leftover(held, claim)
	if err != nil || found {
		return o, found, err
	}
	if claim.Row.ContinuationOf != "" {
		o, err = r.unborn(claim.Row)
		return o, true, err
	}
	return o, false, nil
}

// unbornError says that a continuation never began, and why: its parent waits again.
type unbornError struct{ reason string }

func (e *unbornError) Error() string { return e.reason }

func isUnborn(err error) bool {
	_, ok := errors.AsType[*unbornError](err)
	return ok
}

// watchCancel returns a channel that is closed once somebody wants the run to be
// cancelled, and a function that ends the watch.
func (r *runner) watchCancel(held context.Context, claim *runqueue.Claim) (wanted <-chan struct{}, stop func()) {
	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	return asked, watchRow(held, r.store, r.clock, r.log, claim.Row, func(row runqueue.Row) {
		if row.CancelReason != "" {
			ask()
		}
	})
}

// unborn judges a continuation without a bundle. Where the bundle of its parent is
// not to be found, its own one may be elsewhere too; then nobody can go on with it.
func (r *runner) unborn(row runqueue.Row) (controller.ChildOutcome, error) {
	if _, err := runbundle.ReadManifest(filepath.Join(r.runs, row.ContinuationOf)); unrecorded(err) {
		return interrupted("its record is not in " + r.runs), nil
	}
	return controller.ChildOutcome{}, &unbornError{reason: reasonOwnerGone}
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// await waits for the end of a run, cancels it if its resource wants that, and
// interrupts it if the host stops or the claim is lost.
func await(ctx, held context.Context, cancelled <-chan struct{}, run *engine.Run) engine.Result {
	select {
	case <-run.Done():
	case <-cancelled:
		run.Cancel()
	case <-ctx.Done():
		run.Interrupt(reasonStopped)
	case <-held.Done():
		run.Interrupt(context.Cause(held).Error())
	}
	return run.Wait()
}

// start starts a run, and gives up when the host stops or the claim is lost: an
// author's input function may take its time.
func (r *runner) start(ctx, held context.Context, g *workflow.Graph, claim *runqueue.Claim) (*engine.Run, error) {
	starting, cancel := context.WithCancel(held)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	o := r.startOptions(claim)
	if parent := claim.Row.ContinuationOf; parent != "" {
		return r.engine(claim).Continue(starting, g, engine.ContinueOptions{
			Parent: parent, RunID: o.RunID, Answer: o.Input, Fence: o.Fence, Observe: o.Observe,
		})
	}
	return r.engine(claim).Start(starting, g, o)
}

func (r *runner) startOptions(claim *runqueue.Claim) engine.StartOptions {
	return engine.StartOptions{
		RunID:   claim.Row.RunID,
		Input:   claim.Row.Input,
		Fence:   r.fence(claim),
		Observe: observer(r.observe, claim.Row),
	}
}

// fence asks whether the row is still ours.
func (r *runner) fence(claim *runqueue.Claim) func(context.Context) error {
	return func(ctx context.Context) error { return r.store.CheckRun(ctx, claim) }
}

// finish records the end of a run. One that the store will never take makes the
// run a failed one, of which the parent has to hear.
func (r *runner) finish(ctx, held context.Context, claim *runqueue.Claim, o controller.ChildOutcome) error {
	record := func() error { return r.store.FinishChild(held, claim, o) }
	err := r.insist(ctx, held, claim, record)
	if refused(err) {
		o = failed(err)
		err = r.insist(ctx, held, claim, record)
	}
	return err
}

func (r *runner) insist(ctx, held context.Context, claim *runqueue.Claim, operation func() error) error {
	return insist(ctx, held, r.clock, r.log.With("runId", claim.Row.RunID), operation)
}
