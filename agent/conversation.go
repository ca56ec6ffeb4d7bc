package agent

import (
	"context"
	"sync"

	"piworkflows/engine"
	"piworkflows/runbundle"
)

// DefaultReminders is how often an agent is reminded of a step: once may be an
// oversight, and who does not answer twice will not the third time.
const DefaultReminders = 2

// Options configure a Conversation. The zero value of a field takes its
// default.
type Options struct {
	// Transport carries the messages; required.
	Transport Transport
	// Reminders is how often an agent that falls silent is reminded within one
	// attempt; DefaultReminders by default, a negative number is never.
	Reminders int
}

// Conversation does agent steps by talking to one agent. It does one step at a
// time, holds no state between steps, starts no goroutine, and is safe for
// concurrent use. Spec: workflow engine, Conversation executor.
type Conversation struct {
	transport Transport
	reminders int

	mu      sync.Mutex
	pending *step
}

// NewConversation returns a conversation in which no step is pending.
func NewConversation(o Options) *Conversation {
	if o.Reminders == 0 {
		o.Reminders = DefaultReminders
	}
	return &Conversation{transport: o.Transport, reminders: max(o.Reminders, 0)}
}

// step is the step that waits for a result. The fields below wake belong to the
// mutex of the conversation.
type step struct {
	request engine.AgentRequest
	mark    string
	// ctx ends when the step is no longer pending.
	ctx    context.Context
	cancel context.CancelFunc
	// checks are the calls of the agent that are being looked at.
	checks sync.WaitGroup
	// wake tells Execute that something has changed.
	wake chan struct{}

	checking int
	accepted bool
	failed   error
	// settled says that the agent fell silent and was not reminded yet.
	settled  bool
	reminded int
	// release is set while a person holds the agent, deliver once it was let go.
	release func()
	deliver bool
}

// Execute delivers the step and returns once a result was accepted through
// Submit. It is engine.AgentExecutor. The error is a *BusyError if a step is
// pending already, a *DeliveryError, a *SilentError, what Fail was given, or the
// cause with which ctx ended. No submission is being checked any more when it
// returns.
func (c *Conversation) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	s, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.checks.Wait()
	defer c.end(s)
	if err := c.talk(ctx, s); err != nil {
		if aborter, ok := c.transport.(Aborter); ok && ctx.Err() != nil {
			aborter.Abort(r.Contract, err)
		}
		return nil, err
	}
	recorder, ok := c.transport.(Recorder)
	if !ok {
		return nil, nil //nolint:nilnil // the range may be nil
	}
	said, err := recorder.Since(ctx, s.mark)
	if err != nil {
		return nil, nil //nolint:nilnil // the result counts, with its range or without
	}
	return said, nil
}

func (c *Conversation) begin(ctx context.Context, r engine.AgentRequest) (*step, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		return nil, &BusyError{Pending: c.pending.request.Contract, Refused: r.Contract}
	}
	s := &step{request: r, wake: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	c.pending = s
	return s, nil
}

// end takes the step away: no submission finds it any more.
func (c *Conversation) end(s *step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
	s.cancel()
	if s.release != nil {
		s.release()
	}
}

// talk delivers one message after the other until the step is done.
func (c *Conversation) talk(ctx context.Context, s *step) error {
	if err := c.begun(ctx, s); err != nil {
		return err
	}
	for kind := KindStep; ; {
		if err := c.transport.Deliver(ctx, message(kind, s.request)); err != nil && !c.isAccepted(s) {
			return failedDelivery(ctx, s, kind, err)
		}
		next, err := c.next(ctx, s)
		if next == "" || err != nil {
			return err
		}
		kind = next
	}
}

// begun notes where the conversation stands.
func (c *Conversation) begun(ctx context.Context, s *step) (err error) {
	recorder, ok := c.transport.(Recorder)
	if !ok {
		return nil
	}
	if s.mark, err = recorder.Mark(ctx); err != nil {
		return failedDelivery(ctx, s, KindStep, err)
	}
	return nil
}

func failedDelivery(ctx context.Context, s *step, kind Kind, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &DeliveryError{NodeID: s.request.Contract.NodeID, Kind: kind, Err: err}
}

// next waits until something is to be said and returns what, or nothing once
// the step is done.
func (c *Conversation) next(ctx context.Context, s *step) (Kind, error) {
	for {
		if kind, over, err := c.due(s); kind != "" || over {
			return kind, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// due looks at what has happened since it was called last.
func (c *Conversation) due(s *step) (kind Kind, over bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.accepted:
		return "", true, nil
	case s.failed != nil:
		return "", true, s.failed
	case s.release != nil:
		return "", false, nil
	case s.deliver:
		s.deliver, s.settled = false, false
		return KindResume, false, nil
	case !s.settled || s.checking > 0:
		return "", false, nil
	case s.reminded == c.reminders:
		return "", true, &SilentError{NodeID: s.request.Contract.NodeID, Reminders: s.reminded}
	default:
		s.settled = false
		s.reminded++
		return KindReminder, false, nil
	}
}

func (c *Conversation) isAccepted(s *step) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.accepted
}
