package agent

import (
	"context"
	"encoding/json"
	"errors"

	"piworkflows/engine"
	"piworkflows/workflow"
)

// Submit hands in a result, a JSON text, for the step and attempt that the agent
// names. Nil says that it is accepted and the step complete. A *RefusedError says
// that no such step is pending, an *engine.SubmissionError that the agent may
// correct the result and submit again; every other error ends the step. Reply
// has the words for the agent. It returns once the result was checked.
func (c *Conversation) Submit(ctx context.Context, stepID, attemptID string, result json.RawMessage) error {
	s, err := c.admit(stepID, attemptID)
	if err != nil {
		return err
	}
	defer c.leave(s)
	ctx, cancel := s.while(ctx)
	defer cancel()
	return c.judged(s, s.request.Accept(ctx, result))
}

// Publish records an update of the step and attempt that the agent names. A
// *RefusedError says that no such step is pending; every other error is for the
// agent, too, and changes nothing. See engine.AgentRequest.
func (c *Conversation) Publish(
	ctx context.Context, stepID, attemptID string, u workflow.Update, key string,
) (workflow.UpdateReceipt, error) {
	s, err := c.admit(stepID, attemptID)
	if err != nil {
		return workflow.UpdateReceipt{}, err
	}
	defer c.leave(s)
	ctx, cancel := s.while(ctx)
	defer cancel()
	return s.request.Publish(ctx, u, key)
}

// while returns a context that ends with the step, too.
func (s *step) while(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// leave is the end of what admit let in.
func (c *Conversation) leave(s *step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.checking--
	s.changed()
	s.checks.Done()
}

// admit finds the step that a call of the agent is for.
func (c *Conversation) admit(stepID, attemptID string) (*step, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := &RefusedError{Reason: NothingPending, Step: stepID, Attempt: attemptID}
	s := c.pending
	if s == nil {
		return nil, refused
	}
	refused.Pending = s.request.Contract
	switch {
	case stepID != refused.Pending.NodeID:
		refused.Reason = WrongStep
	case attemptID != refused.Pending.AttemptID:
		refused.Reason = StaleAttempt
	case s.accepted || s.failed != nil:
		refused.Reason = StepOver
	default:
		s.checks.Add(1)
		s.checking++
		return s, nil
	}
	return nil, refused
}

// judged takes the verdict on a submission to the step, if that still waits for
// one.
func (c *Conversation) judged(s *step, verdict error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := c.pending != s || s.failed != nil
	if errors.Is(verdict, engine.ErrStepOver) || verdict == nil && over {
		contract := s.request.Contract
		return &RefusedError{Reason: StepOver, Step: contract.NodeID, Attempt: contract.AttemptID}
	}
	if verdict == nil {
		s.accepted = true
	}
	return verdict
}

// Settled says that the agent has ended its turn and nothing is queued for it.
// If its step is still pending it is reminded, and in the end the attempt fails.
// While the agent is held, and between steps, it means nothing.
func (c *Conversation) Settled() {
	c.change(func(s *step) {
		if s.release == nil {
			s.settled = true
		}
	})
}

// Hold says that a person interrupted the agent. It is not reminded, and the
// active time of a decision stands still, until Release; the deadline of the
// node goes on, and the agent may submit. Between steps it means nothing.
func (c *Conversation) Hold() {
	c.change(func(s *step) {
		if s.release == nil {
			s.release = s.request.Hold()
		}
	})
}

// Release lets a held agent go on: the full step is delivered again.
func (c *Conversation) Release() {
	c.change(func(s *step) {
		if s.release != nil {
			s.release()
			s.release, s.deliver = nil, true
		}
	})
}

// Fail ends the pending step with an error, because the agent is gone.
func (c *Conversation) Fail(err error) {
	c.change(func(s *step) {
		if s.failed == nil && !s.accepted {
			s.failed = err
		}
	})
}

// change changes the pending step, if there is one.
func (c *Conversation) change(by func(s *step)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		by(c.pending)
		c.pending.changed()
	}
}

// changed wakes Execute.
func (s *step) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
