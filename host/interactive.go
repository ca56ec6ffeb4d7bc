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

// RunWorkflow runs one workflow in this process, as a row of the run table like
// every other run, and waits for its end. An ended ctx cancels the run. Input
// that is refused is an error and nothing is written.
func RunWorkflow(ctx context.Context, o Options, store Store, name string, input json.RawMessage) (engine.Result, error) {
	o = o.withDefaults()
	graph, err := o.Catalog.Workflow(name)
	if err != nil {
		return engine.Result{}, err
	}
	s := &solo{options: o, store: store, graph: graph, runID: runbundle.NewRunID(name, o.Clock.Now(), uuid.NewString())}
	return s.run(ctx, input)
}

// CheckRun returns the error with which RunWorkflow would refuse a run. It needs
// no store, so that a refusal leaves none behind.
func CheckRun(ctx context.Context, o Options, name string, input json.RawMessage) error {
	o = o.withDefaults()
	graph, err := o.Catalog.Workflow(name)
	if err != nil {
		return err
	}
	return engine.New(o.engine()).Check(ctx, graph, input)
}

// solo is one interactive run.
type solo struct {
	options Options
	store   Store
	graph   *workflow.Graph
	runID   string
	// claim is set once the row exists.
	claim *runqueue.Claim
}

func (s *solo) run(ctx context.Context, input json.RawMessage) (engine.Result, error) {
	run, err := engine.New(s.options.engine()).Start(ctx, s.graph, engine.StartOptions{
		RunID:   s.runID,
		Input:   input,
		Reserve: s.reserve,
		Fence:   func(ctx context.Context) error { return s.store.CheckRun(ctx, s.claim) },
		Observe: observer(s.options.Observe, runqueue.Row{RunID: s.runID, Workflow: s.graph.Name()}),
	})
	if err != nil {
		return engine.Result{}, errors.Join(err, s.abandon(ctx, err))
	}
	// The row is kept and finished although ctx may end: the end of the run has
	// to be recorded.
	after := context.WithoutCancel(ctx)
	held, release := lease.Keep(after, lease.Renewal{
		Clock: s.options.Clock,
		Renew: func(ctx context.Context) error { return s.store.RenewRun(ctx, s.claim, lease.DefaultDuration) },
	})
	defer release()
	result := s.await(ctx, held, run)
	// Also if the record is not complete: nobody else would end the row.
	log := s.options.Logger.With("runId", s.runID)
	return result, errors.Join(result.Err, insist(after, held, s.options.Clock, log, func() error {
		return s.store.FinishRun(after, s.claim, rowStatus(result.Status), result.Error)
	}))
}

// reserve makes the row once the engine has accepted the input.
func (s *solo) reserve(ctx context.Context, input json.RawMessage) error {
	id, err := identity(s.graph)
	if err != nil {
		return err
	}
	s.claim, err = s.store.Launch(ctx, runqueue.NewRun{
		RunID: s.runID, Workflow: s.graph.Name(), Source: id.Source, Digest: id.Digest, Input: input,
	}, lease.DefaultDuration)
	return err
}

// abandon ends the row of a run whose bundle could not be made.
func (s *solo) abandon(ctx context.Context, cause error) error {
	if s.claim == nil {
		return nil
	}
	return s.store.FinishRun(context.WithoutCancel(ctx), s.claim, runqueue.Failed, cause.Error())
}

func (s *solo) await(ctx, held context.Context, run *engine.Run) engine.Result {
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.Cancel()
	case <-held.Done():
		run.Interrupt(context.Cause(held).Error())
	}
	return run.Wait()
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
