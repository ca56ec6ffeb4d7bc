package agent

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/engine"
	"piworkflows/runbundle"
)

// Execute plays the turns of the node. It is engine.AgentExecutor.
func (s *Script) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &player{script: s, step: r.Contract, said: r.Output, messages: make(chan struct{}, 1)}
	p.talk = NewConversation(Options{Transport: p})
	var playing sync.WaitGroup
	playing.Go(func() { p.play(ctx) })
	defer playing.Wait()
	defer cancel()
	return p.talk.Execute(ctx, r)
}

// player is the agent that a script stands for, during one step. It is its own
// transport.
type player struct {
	script   *Script
	step     engine.AgentContract
	said     io.Writer
	talk     *Conversation
	messages chan struct{}
}

// Deliver wakes the player: what the message says makes no difference to it.
func (p *player) Deliver(context.Context, Message) error {
	p.messages <- struct{}{} // there is room: a message comes only after the last one was taken
	return nil
}

// play answers one message after the other until the step is over.
func (p *player) play(ctx context.Context) {
	for {
		select {
		case <-p.messages:
		case <-ctx.Done():
			return
		}
		if err := p.answer(ctx); err != nil {
			p.talk.Fail(err)
			return
		}
	}
}

// answer plays turns until the agent waits for the next message.
func (p *player) answer(ctx context.Context) error {
	for {
		t, err := p.script.take(p.step.NodeID)
		if err != nil {
			return err
		}
		if err := p.sleep(ctx, t.After); err != nil {
			return err
		}
		if waits, err := p.do(ctx, t); waits || err != nil {
			return err
		}
	}
}

// do plays one turn and reports whether the agent waits for a message then.
func (p *player) do(ctx context.Context, t turn) (waits bool, err error) {
	switch {
	case t.Fail != nil:
		return false, &FailedError{NodeID: p.step.NodeID, Message: *t.Fail}
	case t.Hold != nil:
		p.talk.Hold()
		defer p.talk.Release()
		return true, p.sleep(ctx, *t.Hold)
	case t.Silent != nil:
		p.talk.Settled()
		return true, nil
	case t.Update != nil:
		_, err := p.talk.Publish(ctx, p.step.NodeID, p.step.AttemptID, *t.Update, "")
		return false, err
	case t.Text != nil:
		_, _ = io.WriteString(p.said, *t.Text+"\n") // it never fails
		t.Submit = Text(*t.Text)
	}
	err = p.talk.Submit(ctx, p.step.NodeID, p.step.AttemptID, t.Submit)
	if rejected := (*engine.SubmissionError)(nil); errors.As(err, &rejected) {
		return false, nil
	}
	return true, err
}

func (p *player) sleep(ctx context.Context, d period) error {
	if d == 0 {
		return nil
	}
	return clock.Sleep(ctx, p.script.clock, time.Duration(d))
}
