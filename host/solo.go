package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"piworkflows/clock"
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
	// input is that of a new run, as it was given.
	input json.RawMessage
	// stay says that the run is parked instead of cancelled when ctx ends: it belongs
	// to no terminal.
	stay bool
	// detached says that the run belonged to the hosts before it was claimed here.
	detached bool
	// claim is set once the row is ours.
	claim *runqueue.Claim
}

// newSolo describes a new run.
func newSolo(o Options, store Store, g *workflow.Graph, parent string, input json.RawMessage) *solo {
	return &solo{
		options: o, store: redacted(store), engine: engine.New(o.engine()), graph: g, parent: parent, input: input,
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

// reserve makes the row once the engine has accepted the input. It keeps the input
// as it was given: whoever begins the run in our place gives it to the engine again.
func (s *solo) reserve(ctx context.Context, _ json.RawMessage) error {
	r, err := s.newRun()
	if err == nil {
		r.Root, err = rootID(s.options.Runs)
	}
	if err != nil {
		return err
	}
	s.claim, err = s.store.Launch(ctx, r, s.options.Lease)
	return err
}

// newRun describes the row.
func (s *solo) newRun() (runqueue.NewRun, error) {
	id, err := identity(s.graph)
	input := s.input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	return runqueue.NewRun{
		RunID: s.runID, Workflow: s.graph.Name(), Source: id.Source, Digest: id.Digest, Input: input,
		ContinuationOf: s.parent,
	}, err
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
		Every: s.options.Lease / renewals, Lasts: s.options.Lease,
		Renew: func(ctx context.Context) error { return s.store.RenewRun(ctx, s.claim, s.options.Lease) },
	})
}

// follow waits for the end of the run and records it in the row, also if the
// bundle is not complete.
func (s *solo) follow(ctx, held context.Context, run *engine.Run) (engine.Result, error) {
	if s.options.Control != nil {
		s.options.Control(run)
	}
	result := s.await(ctx, held, run)
	after, stop := context.WithoutCancel(ctx), ctx
	if !s.stay {
		stop = after // nobody else would
	} else if result.Err != nil {
		_ = clock.Sleep(ctx, s.options.Clock, storeRetry) // or it would be taken up again at once
	}
	log := s.options.Logger.With("runId", s.runID)
	return result, errors.Join(result.Err, insist(stop, held, s.options.Clock, log, func() error {
		return s.end(after, result)
	}))
}

// await waits for the end of the run, and does meanwhile what is wanted of it in
// the row. If ctx ends it cancels or parks the run, and it leaves the run to its
// next owner if the claim is lost.
func (s *solo) await(ctx, held context.Context, run *engine.Run) engine.Result {
	stop := watchRow(held, s.store, s.options.Clock, s.options.Logger, s.claim.Row, s.obey(run))
	defer stop()
	select {
	case <-run.Done():
	case <-ctx.Done():
		if s.stay {
			run.Park()
		} else {
			run.Cancel()
		}
	case <-held.Done():
		run.Park()
	}
	return run.Wait()
}

// obey returns what lets a run do what its row says. A person at the terminal may
// pause the run too, which is not in the row.
func (s *solo) obey(run *engine.Run) func(runqueue.Row) {
	paused := false
	return func(row runqueue.Row) {
		switch {
		case row.CancelReason != "":
			run.Cancel()
		case row.Paused && !paused:
			run.Pause()
			s.options.Logger.Info("the run is to hold before its next step", "runId", s.runID)
		case !row.Paused && paused:
			run.Resume()
		}
		paused = row.Paused
	}
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
	return s.finish(ctx, r.Status, r.Error)
}

// finish gives the row the state that goes with the end of the bundle.
func (s *solo) finish(ctx context.Context, status runbundle.Status, message string) error {
	if status == runbundle.Waiting {
		return s.store.AwaitAnswer(ctx, s.claim)
	}
	return s.store.FinishRun(ctx, s.claim, rowStatus(status), message)
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

// rowStatus maps the end of a bundle that does not wait to the row.
func rowStatus(s runbundle.Status) runqueue.Status {
	switch s {
	case runbundle.Completed:
		return runqueue.Done
	case runbundle.Cancelled:
		return runqueue.Cancelled
	default:
		return runqueue.Failed
	}
}
