package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// workflows is the Workflows of one pass.
type workflows struct {
	*passRun
	pass context.Context //nolint:containedctx // the life of the pass, whatever context the author passes
}

// Ensure implements Workflows.
func (s *workflows) Ensure(ctx context.Context, r WorkflowRequest) (ChildRun, error) {
	ctx, leave, err := s.enter(ctx, s.pass)
	if err != nil {
		return ChildRun{}, err
	}
	defer leave()
	reservation, err := s.reservation(r)
	if err == nil {
		err = s.pin(ctx, &reservation)
	}
	if err != nil {
		return ChildRun{}, fmt.Errorf("child run %.80q: %w", r.RequestKey, err)
	}
	return s.reserve(ctx, reservation)
}

// reservation checks the request before anything is written.
func (s *workflows) reservation(r WorkflowRequest) (ChildReservation, error) {
	if s.o.Scheduler == nil {
		return ChildReservation{}, ErrNoScheduler
	}
	if err := r.check(); err != nil {
		return ChildReservation{}, err
	}
	input, err := canonicalValue("child input", r.Input)
	if err != nil {
		return ChildReservation{}, err
	}
	return ChildReservation{
		RequestKey: r.RequestKey, Workflow: r.Workflow, Input: input, RunID: s.o.Scheduler.NewRunID(r.Workflow),
		PerHour:              cmp.Or(s.definition.ChildRunsPerHour, DefaultChildRunsPerHour),
		AgentAttemptsPerHour: cmp.Or(s.definition.AgentAttemptsPerHour, DefaultAgentAttemptsPerHour),
		Retry: ChildRetry{
			MaxInterruptions: cmp.Or(r.MaxInterruptions, DefaultMaxInterruptions),
			Backoff:          Backoff{Base: ChildBackoffBase, Max: ChildBackoffMax, Jitter: BackoffJitter},
			Random:           s.o.Random(),
		},
	}, nil
}

// maxInterruptions bounds WorkflowRequest.MaxInterruptions.
const maxInterruptions = 1000

// check lists what is wrong with a request.
func (r WorkflowRequest) check() error {
	problems := []error{ValidateKey("request key", r.RequestKey), ValidateKey("workflow name", r.Workflow)}
	if r.MaxInterruptions < 0 || r.MaxInterruptions > maxInterruptions {
		problems = append(problems, fmt.Errorf("%d interruptions: allow 1 to %d", r.MaxInterruptions, maxInterruptions))
	}
	return errors.Join(problems...)
}

// pin resolves the workflow, so that a run that starts later is the one asked
// for. A workflow that is gone is an error only if there is still something to
// run.
func (s *workflows) pin(ctx context.Context, r *ChildReservation) (err error) {
	if r.Identity, err = s.o.Scheduler.Resolve(ctx, r.Workflow); err == nil {
		return nil
	}
	children, readErr := s.o.Store.Children(ctx, s.claim.Ref)
	if slices.ContainsFunc(children, r.over) {
		return nil
	}
	return errors.Join(err, readErr)
}

// over reports whether a run is the one of the request, and never runs again.
func (r *ChildReservation) over(c ChildRun) bool {
	return c.RequestKey == r.RequestKey && (c.State == RunSucceeded || c.State == RunFailed || c.State == RunWaiting)
}

// notWanted is the reason of a cancellation that the author did not give.
const notWanted = "its resource asks for something else now"

// CancelOthers implements Workflows.
func (s *workflows) CancelOthers(ctx context.Context, keep, reason string) ([]ChildRun, error) {
	ctx, leave, err := s.enter(ctx, s.pass)
	if err != nil {
		return nil, err
	}
	defer leave()
	if keep != "" {
		if err := ValidateKey("request key", keep); err != nil {
			return nil, fmt.Errorf("cancel child runs: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done, err := s.o.Store.CancelChildren(ctx, s.claim, ChildCancellation{
		Keep: keep, Reason: cmp.Or(reason, notWanted), Version: s.resource.Metadata.ResourceVersion,
	})
	if err != nil {
		return nil, err
	}
	s.resource.Metadata.ResourceVersion, s.resource.Status.WorkflowRun = done.Version, done.WorkflowRun
	var running []ChildRun
	for _, c := range done.Children {
		if c.State.Final() {
			s.observeChild(c)
		} else {
			running = append(running, c)
		}
	}
	return running, nil
}

// reserve goes on with the version that the reservation made: the pointer to
// the run is a write of this pass, no conflict with it.
func (s *workflows) reserve(ctx context.Context, r ChildReservation) (ChildRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Version = s.resource.Metadata.ResourceVersion
	child, done, err := s.o.Store.ReserveChild(ctx, s.claim, r)
	if err != nil {
		return ChildRun{}, err
	}
	s.resource.Metadata.ResourceVersion = done.Version
	s.resource.Status.WorkflowRun = done.WorkflowRun
	if done.Started {
		s.observeChild(child)
	}
	return child, nil
}
