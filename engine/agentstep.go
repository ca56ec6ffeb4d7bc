package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// admitted waits until the attempt may begin, if it is for an agent that has a say
// in that.
func (a *attempt) admitted() error {
	n, isAgent := a.node.(workflow.Agent)
	admitter, waits := a.r.e.o.Agents.(Admitter)
	if !isAgent || !waits {
		return nil
	}
	out := a.output()
	defer out.Close()
	_, err := call(a.ctx, a.r.e, a.what("the agent"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, admitter.Admit(ctx, a.contract(n), out.Stream(spool.Agent))
	})
	return err
}

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
	desk := newDesk(a, n)
	defer desk.open()()
	out := a.output()
	defer out.Close()
	request := AgentRequest{
		Contract: a.contract(n), Prompt: prompt, RunTitle: a.r.title, StatusDetail: n.StatusDetail,
		Accept: desk.accept, Hold: desk.hold, Publish: (&onceEach{publish: a.publish}).take, Output: out.Stream(spool.Agent),
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
	prompt = strings.TrimRight(prompt, " \t\r\n") + betweenParts + a.contract(n).Text()
	return prompt, limit.Bytes(a.what("prompt"), []byte(prompt), workflow.MaxValueBytes)
}

func (a *attempt) contract(n workflow.Agent) AgentContract {
	return AgentContract{
		RunID: a.c.RunID, WorkflowName: a.r.graph.Name(), NodeID: n.ID, AttemptID: a.c.AttemptID, ExpectedOutput: n.ExpectedOutput,
	}
}
