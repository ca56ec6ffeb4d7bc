package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"piworkflows/engine"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// solo is one interactive run in this process.
type solo struct {
	options Options
	store   Store
	engine  *engine.Engine
	graph   *workflow.Graph
	runID   string
	// parent is the run that this one continues, if any.
	parent string
	// claim is set once the row is ours.
	claim *runqueue.Claim
}

// newSolo describes a new run.
func newSolo(o Options, store Store, g *workflow.Graph, parent string) *solo {
	return &solo{
		options: o, store: redacted(store), engine: engine.New(o.engine()), graph: g, parent: parent,
		runID: runbundle.NewRunID(g.Name(), o.Clock.Now(), uuid.NewString()),
	}
}

// launch begins a new run, which makes its row, and follows it to its end.
func (s *solo) launch(ctx context.Context, begin func() (*engine.Run, error)) (engine.Result, error) {
	run, err := begin()
	if err != nil {
		return engine.Result{}, errors.Join(err, s.abandon(ctx, err))
	}
	held, release := s.keep(ctx)
	defer release()
	return s.follow(ctx, held, run)
}

// reserve makes the row once the engine has accepted the input.
func (s *solo) reserve(ctx context.Context, input json.RawMessage) error {
	id, err := identity(s.graph)
	if err != nil {
		return err
	}
	s.claim, err = s.store.Launch(ctx, runqueue.NewRun{
		RunID: s.runID, Workflow: s.graph.Name(), Source: id.Source, Digest: id.Digest, Input: input,
		ContinuationOf: s.parent,
	}, lease.DefaultDuration)
	return err
}

// abandon ends the row of a run whose bundle could not be made.
func (s *solo) abandon(ctx context.Context, cause error) error {
	if s.claim == nil {
		return nil
	}
	return s.store.AbandonRun(context.WithoutCancel(ctx), s.claim, runqueue.Failed, cause.Error())
}

func (s *solo) fence(ctx context.Context) error { return s.store.CheckRun(ctx, s.claim) }

func (s *solo) observer() func(runbundle.Event, workflow.View) {
	return observer(s.options.Observe, runqueue.Row{RunID: s.runID, Workflow: s.graph.Name()})
}

// keep renews the claim until release is called. The row is kept although ctx
// may end: the end of the run has to be recorded.
func (s *solo) keep(ctx context.Context) (held context.Context, release func()) {
	return lease.Keep(context.WithoutCancel(ctx), lease.Renewal{
		Clock: s.options.Clock,
		Renew: func(ctx context.Context) error { return s.store.RenewRun(ctx, s.claim, lease.DefaultDuration) },
	})
}

// follow waits for the end of the run and records it in the row, also if the
// bundle is not complete: nobody else would.
func (s *solo) follow(ctx, held context.Context, run *engine.Run) (engine.Result, error) {
	if s.options.Control != nil {
		s.options.Control(run)
	}
	result := s.await(ctx, held, run)
	after := context.WithoutCancel(ctx)
	log := s.options.Logger.With("runId", s.runID)
	return result, errors.Join(result.Err, insist(after, held, s.options.Clock, log, func() error {
		return s.end(after, result)
	}))
}

// await cancels the run if ctx ends, or if it is a child and its resource wants
// that, and leaves it to its next owner if the claim is lost.
func (s *solo) await(ctx, held context.Context, run *engine.Run) engine.Result {
	var cancelled <-chan struct{}
	if s.claim.Row.ChildOf != "" {
		var stop func()
		cancelled, stop = watchCancel(held, s.store, s.options.Clock, s.options.Logger, s.claim)
		defer stop()
	}
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.Cancel()
	case <-cancelled:
		run.Cancel()
	case <-held.Done():
		run.Park()
	}
	return run.Wait()
}

// end gives the row the state that goes with the bundle. A run without an end
// can be resumed.
func (s *solo) end(ctx context.Context, r engine.Result) error {
	if s.claim.Row.ChildOf != "" {
		return s.endChild(ctx, r)
	}
	if r.Status == runbundle.Running {
		return s.store.ParkRun(ctx, s.claim, r.Error)
	}
	return s.store.FinishRun(ctx, s.claim, rowStatus(r.Status), r.Error)
}

// endChild tells the parent of a child run how it ended. One without an end is
// taken up by a host once this process is gone, and counts as interrupted.
func (s *solo) endChild(ctx context.Context, r engine.Result) error {
	if r.Status == runbundle.Running {
		return nil
	}
	err := s.store.FinishChild(ctx, s.claim, outcomeOf(r))
	if refused(err) {
		err = s.store.FinishChild(ctx, s.claim, failed(err))
	}
	return err
}

// rowStatus maps the end of a bundle to the row: a waiting run is done here.
func rowStatus(s runbundle.Status) runqueue.Status {
	switch s {
	case runbundle.Completed, runbundle.Waiting:
		return runqueue.Done
	case runbundle.Cancelled:
		return runqueue.Cancelled
	default:
		return runqueue.Failed
	}
}
