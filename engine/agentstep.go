package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// agent asks for the prompt, delivers it, and takes the first submission that
// the author accepts. Spec: workflow engine, Agent steps.
func (a *attempt) agent(n workflow.Agent) (json.RawMessage, error) {
	executor := a.r.e.o.Agents
	if executor == nil {
		return nil, fmt.Errorf("node %s: no agent is there to do this step: name one when the run starts", n.ID)
	}
	prompt, err := a.prompt(n)
	if err != nil {
		return nil, err
	}
	if err := a.append(runbundle.PromptSent{Prompt: prompt}); err != nil {
		return nil, err
	}
	if err := a.outside(); err != nil {
		return nil, err
	}
	desk := &desk{a: a, n: n, turn: make(chan struct{}, 1)}
	defer desk.close()
	request := AgentRequest{
		Contract: a.contract(n), Prompt: prompt, RunTitle: a.r.title, StatusDetail: n.StatusDetail, Accept: desk.accept,
	}
	a.conversation, err = call(a.ctx, a.r.e, a.what("the agent"), func(ctx context.Context) (*runbundle.Conversation, error) {
		return executor.Execute(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return desk.result()
}

// prompt returns the full text: the author's part and the contract.
func (a *attempt) prompt(n workflow.Agent) (string, error) {
	authored, err := call(a.ctx, a.r.e, a.what("the prompt function"), func(ctx context.Context) (string, error) {
		return n.Prompt(ctx, a.c)
	})
	if err != nil {
		return "", err
	}
	prompt := strings.ToValidUTF8(authored, "\uFFFD")
	prompt = strings.TrimRight(prompt, " \t\r\n") + "\n\n" + a.contract(n).text()
	return prompt, limit.Bytes(a.what("prompt"), []byte(prompt), workflow.MaxValueBytes)
}

func (a *attempt) contract(n workflow.Agent) AgentContract {
	return AgentContract{
		RunID: a.c.RunID, WorkflowName: a.r.graph.Name(), NodeID: n.ID, AttemptID: a.c.AttemptID, ExpectedOutput: n.ExpectedOutput,
	}
}

// desk takes the submissions of one attempt, one after the other.
type desk struct {
	a    *attempt
	n    workflow.Agent
	turn chan struct{} // holds a value while a submission is being checked

	mu       sync.Mutex
	closed   bool
	accepted json.RawMessage
}

// accept is AgentRequest.Accept.
func (d *desk) accept(ctx context.Context, submission json.RawMessage) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.a.ctx.Done():
		return ErrStepOver
	}
	if d.over() {
		return ErrStepOver
	}
	output, err := d.check(submission)
	if err != nil {
		return err
	}
	return d.keep(output)
}

// check runs the pipeline of a submission; any error goes back to the agent.
func (d *desk) check(submission json.RawMessage) (json.RawMessage, error) {
	output, err := checked("submission", submission)
	if err != nil || d.n.Validate == nil {
		return output, err
	}
	got := protected(d.a.ctx, d.a.r.e, d.a.what("the validate function"), func(ctx context.Context) (json.RawMessage, error) {
		return d.n.Validate(ctx, d.a.c, output)
	})
	if panicked := (*PanicError)(nil); errors.As(got.err, &panicked) {
		// Not a fault of the agent, which would only try again.
		d.a.over(panicked)
	}
	if got.err != nil {
		return nil, got.err
	}
	return checked(d.a.what("output"), got.value)
}

// keep makes a checked submission the result of the step, unless the attempt
// ended meanwhile.
func (d *desk) keep(output json.RawMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.accepted != nil || d.a.ctx.Err() != nil {
		return ErrStepOver
	}
	d.accepted = output
	return nil
}

func (d *desk) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed || d.accepted != nil || d.a.ctx.Err() != nil
}

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

func (d *desk) result() (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accepted == nil {
		return nil, fmt.Errorf("node %s: the agent ended without a submission that was accepted", d.n.ID)
	}
	return d.accepted, nil
}
