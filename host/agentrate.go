package host

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/runqueue"
)

// childEngine makes engines for child runs. Their agents count for the controllers
// that asked for the runs.
func (o Options) childEngine(store Store) func(*runqueue.Claim) *engine.Engine {
	return func(run *runqueue.Claim) *engine.Engine {
		eo := o.engine()
		if o.Agents != nil {
			eo.Agents = &ratedAgent{o.Agents, store, run, o.Clock, o.Logger}
		}
		return engine.New(eo)
	}
}

// ratedAgent is the agent of one child run. Its attempts wait while the controller
// has had too many in an hour.
type ratedAgent struct {
	engine.AgentExecutor
	store controller.Store
	run   *runqueue.Claim
	clock clock.Clock
	log   *slog.Logger
}

// Admit is engine.Admitter.
func (a *ratedAgent) Admit(ctx context.Context, c engine.AgentContract, say io.Writer) error {
	log := a.log.With("runId", c.RunID, "node", c.NodeID, "attemptId", c.AttemptID)
	for {
		wait, err := a.count(ctx, log)
		switch {
		case err != nil:
			return &engine.RecordError{RunID: c.RunID, Err: err}
		case wait == 0:
			return a.inner(ctx, c, say)
		}
		until := clock.Format(a.clock.Now().Add(wait))
		log.InfoContext(ctx, "an agent attempt waits", "code", controller.CodeAgentRateLimited, "until", until)
		fmt.Fprintf(say, "%s: waits until %s, because the child runs of its controller made more agent attempts in an hour "+
			"than its definition allows\n", controller.CodeAgentRateLimited, until)
		if err := clock.Sleep(ctx, a.clock, wait); err != nil {
			return err
		}
	}
}

// count counts the attempt, or says how long there is no room for it. It goes on
// until the store takes it.
func (a *ratedAgent) count(ctx context.Context, log *slog.Logger) (wait time.Duration, err error) {
	err = insist(ctx, ctx, a.clock, log, func() (err error) {
		wait, err = a.store.CountAgentAttempt(ctx, a.run)
		return err
	})
	return wait, err
}

// inner asks the agent itself, which may have a bound of its own.
func (a *ratedAgent) inner(ctx context.Context, c engine.AgentContract, say io.Writer) error {
	if admitter, ok := a.AgentExecutor.(engine.Admitter); ok {
		return admitter.Admit(ctx, c, say)
	}
	return nil
}
