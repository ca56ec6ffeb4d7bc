package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// script is an executor that does what its test says.
type script func(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error)

func (s script) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	return s(ctx, r)
}

// submits hands in one answer after the other until one is accepted.
func submits(t *testing.T, answers ...string) script {
	t.Helper()
	return func(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
		for _, answer := range answers {
			if r.Accept(ctx, raw(answer)) == nil {
				return &runbundle.Conversation{FirstEntryID: "e1", LastEntryID: "e2"}, nil
			}
		}
		return nil, errors.New("out of answers")
	}
}

func asks(validate func(ctx context.Context, c *workflow.Context, output json.RawMessage) (json.RawMessage, error)) workflow.Agent {
	return workflow.Agent{
		ID: "ask", StatusDetail: "thinking", ExpectedOutput: `{"n": a number}`, Validate: validate,
		Prompt: func(context.Context, *workflow.Context) (string, error) { return "Count them.  \n\n", nil },
	}
}

func TestAgentStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var request engine.AgentRequest
	var rejections []string
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		request = q
		for _, answer := range []string{`{"n":`, `{"n":0}`, `{"n" : 7}`} {
			if err := q.Accept(ctx, raw(answer)); err != nil {
				rejections = append(rejections, err.Error())
			}
		}
		if err := q.Accept(ctx, raw(`{"n":8}`)); !errors.Is(err, engine.ErrStepOver) {
			t.Errorf("a second answer was taken: %v", err)
		}
		return &runbundle.Conversation{FirstEntryID: "e1", LastEntryID: "e2"}, nil
	})
	d := flow(asks(func(_ context.Context, c *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
		if strings.Contains(string(output), "0") {
			return nil, errors.New("zero is too few")
		}
		return raw(`{"normal": ` + string(output) + `}`), nil
	}))
	d.Title = func(context.Context, json.RawMessage) (string, error) { return "Title", nil }
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != `{"normal":{"n":7}}` {
		t.Errorf("output %s", result.FinalOutput)
	}
	if len(rejections) != 2 || !strings.Contains(rejections[0], "submission") || rejections[1] != "zero is too few" {
		t.Errorf("rejections %q", rejections)
	}
	step := b.State.Steps[0]
	if len(b.State.Steps) != 1 || step.Conversation == nil || *step.Conversation != (runbundle.Conversation{FirstEntryID: "e1", LastEntryID: "e2"}) {
		t.Errorf("steps %s, conversation %v: a rejection stays in the attempt", trail(b), step.Conversation)
	}
	if got := kinds(b); got != "run_started node_started agent_prompt_sent node_finished run_completed" {
		t.Errorf("events %s", got)
	}
	var prompt string
	if err := json.Unmarshal(step.Prompt, &prompt); err != nil || prompt != request.Prompt {
		t.Errorf("recorded prompt %q, %v", prompt, err)
	}
	want := engine.AgentContract{
		RunID: runID, WorkflowName: "greet", NodeID: "ask", AttemptID: step.AttemptID, ExpectedOutput: `{"n": a number}`,
	}
	if request.Contract != want || request.RunTitle != "Title" || request.StatusDetail != "thinking" {
		t.Errorf("request %+v", request)
	}
	contract, found := strings.CutPrefix(prompt, "Count them.\n\n---\n")
	if !found || request.Authored() != "Count them." {
		t.Errorf("prompt %q, of which the author's %q", prompt, request.Authored())
	}
	for _, part := range []string{
		"greet", "ask", `{"action":"update","step":"ask","attempt":"` + step.AttemptID + `","update":{"type":`, `{"action":"submit","step":"ask","attempt":"` + step.AttemptID + `","output":`, `{"n": a number}`,
	} {
		if !strings.Contains(contract, part) {
			t.Errorf("the contract does not contain %q: %s", part, contract)
		}
	}
}

// doorman is an agent whose attempts wait for a word.
type doorman struct {
	script
	asked chan engine.AgentContract
	word  chan error
}

func newDoorman(s script) *doorman {
	return &doorman{script: s, asked: make(chan engine.AgentContract, 2), word: make(chan error, 1)}
}

func (d *doorman) Admit(ctx context.Context, c engine.AgentContract, say io.Writer) error {
	fmt.Fprintf(say, "not yet")
	d.asked <- c
	select {
	case err := <-d.word:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// No deadline runs while an attempt waits to be admitted, nor is its prompt asked for.
func TestAnAttemptWaitsToBeAdmitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := newDoorman(submits(t, "1"))
	r.options.Agents = d
	var said strings.Builder
	r.options.Printed = func(_ string, p spool.Piece) { said.WriteString(p.NodeID + " " + p.Stream + " " + p.Text) }
	n := asks(nil)
	n.Limits.Timeout = time.Minute
	prompted := false
	n.Prompt = func(context.Context, *workflow.Context) (string, error) {
		prompted = true
		return "Count them.", nil
	}
	run := r.begin(flow(compute("a", gives(1, nil)), n, compute("b", gives(2, nil))))
	contract := <-d.asked
	if prompted {
		t.Error("the prompt was asked for before the attempt was admitted")
	}
	r.clock.Advance(time.Hour)
	d.word <- nil
	result, b := r.finish(run)
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); got != "a:ok ask:ok b:ok" || contract.AttemptID != b.State.Steps[1].AttemptID || contract.NodeID != "ask" {
		t.Errorf("steps %s, admitted %+v", got, contract)
	}
	if len(d.asked) != 0 || said.String() != "ask agent not yet" {
		t.Errorf("asked %d times more; said %q", len(d.asked), said.String())
	}
}

func TestAnAttemptThatIsNotAdmitted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		act    func(d *doorman, run *engine.Run)
		status runbundle.Status
		code   string
	}{
		{"refused", func(d *doorman, _ *engine.Run) { d.word <- errors.New("no") }, runbundle.Failed, engine.CodeNode},
		{"cancelled", func(_ *doorman, run *engine.Run) { run.Cancel() }, runbundle.Cancelled, engine.CodeCancelled},
		{"interrupted", func(_ *doorman, run *engine.Run) { run.Interrupt("stop") }, runbundle.Failed, runbundle.CodeInterrupted},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			d := newDoorman(submits(t, "1"))
			r.options.Agents = d
			run := r.begin(flow(asks(nil)))
			<-d.asked
			test.act(d, run)
			result, b := r.finish(run)
			r.want(result, test.status, test.code, "")
			if got := kinds(b); strings.Contains(got, "agent_prompt_sent") {
				t.Errorf("events %s", got)
			}
		})
	}
}

func TestAParkedAttemptIsAdmittedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := newDoorman(submits(t, "1"))
	r.options.Agents = d
	w := flow(asks(nil))
	run := r.begin(w)
	first := <-d.asked
	run.Park()
	if result, _ := r.finish(run); !result.Parked {
		t.Fatalf("result %+v", result)
	}
	d.word <- nil
	result, b := r.finish(r.resume(w))
	r.want(result, runbundle.Completed, "", "")
	if second := <-d.asked; second.AttemptID == first.AttemptID || trail(b) != "ask:ok" {
		t.Errorf("attempt %s twice, steps %s", first.AttemptID, trail(b))
	}
}

func TestAgentFails(t *testing.T) {
	t.Parallel()
	accepted := func(out string, err error) func(context.Context, *workflow.Context, json.RawMessage) (json.RawMessage, error) {
		return func(context.Context, *workflow.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(out), err
		}
	}
	noPrompt, longPrompt := asks(nil), asks(nil)
	noPrompt.Prompt = func(context.Context, *workflow.Context) (string, error) { return "", errors.New("no words") }
	longPrompt.Prompt = func(context.Context, *workflow.Context) (string, error) { return strings.Repeat("x", 1<<20), nil }
	panicking := asks(func(context.Context, *workflow.Context, json.RawMessage) (json.RawMessage, error) { panic("ouch") })
	tests := []struct {
		name          string
		node          workflow.Agent
		agents        engine.AgentExecutor
		code, message string
		prompted      bool
	}{
		{"nobody", asks(nil), nil, "node_failed", "no agent is there", false},
		{"prompt", noPrompt, submits(t, "1"), "node_failed", "no words", false},
		{"prompt too long", longPrompt, submits(t, "1"), "limit_exceeded", "prompt of node ask", false},
		{"executor", asks(nil), submits(t), "node_failed", "out of answers", true},
		{"rejected to the end", asks(accepted("", errors.New("never"))), submits(t, "1", "2", "3"), "node_failed", "out of answers", true},
		{"validator breaks JSON", asks(accepted("{", nil)), submits(t, "1"), "node_failed", "out of answers", true},
		{"silence", asks(nil), script(func(context.Context, engine.AgentRequest) (*runbundle.Conversation, error) { return nil, nil }), "node_failed", "without a submission", true},
		{"validator panics", panicking, submits(t, "1", "2"), "callback_panicked", "ouch", true},
		{"executor panics", asks(nil), script(func(context.Context, engine.AgentRequest) (*runbundle.Conversation, error) { panic("dead") }), "callback_panicked", "dead", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.Agents = test.agents
			result, b := r.run(flow(test.node))
			r.want(result, runbundle.Failed, test.code, test.message)
			if got := b.State.Steps[0].Prompt != nil; got != test.prompted {
				t.Errorf("prompt recorded: %v", got)
			}
		})
	}
}

func TestAgentWithoutAnExpectation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		if !strings.Contains(q.Prompt, "The result must be: a JSON object") {
			t.Errorf("prompt %q", q.Prompt)
		}
		return nil, q.Accept(ctx, nil)
	})
	n := asks(nil)
	n.ExpectedOutput = ""
	result, _ := r.run(flow(n))
	r.want(result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != "null" {
		t.Errorf("output %s", result.FinalOutput)
	}
}

// What an agent copies from the contract is JSON, whatever the names are.
func TestContractIsQuoted(t *testing.T) {
	t.Parallel()
	c := engine.AgentContract{WorkflowName: "w", NodeID: "a/\"b\"\u2028\x01", AttemptID: "1"}
	filled := strings.Replace(c.SubmitCall(), "<your result>", "{}", 1)
	var call struct{ Action, Step, Attempt string }
	if err := json.Unmarshal([]byte(filled), &call); err != nil || call.Step != c.NodeID || call.Action != "submit" || call.Attempt != "1" {
		t.Errorf("%s is %+v, %v", filled, call, err)
	}
	if !strings.Contains(c.Text(), c.SubmitCall()) || strings.Count(c.Text(), `"step":`) != 2 {
		t.Errorf("contract %s", c.Text())
	}
}

// A submission that comes, or is still being checked, when the attempt is over
// changes nothing.
func TestLateSubmissions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	checking, goOn := make(chan struct{}), make(chan struct{})
	late := make(chan error, 2)
	var accept func(context.Context, json.RawMessage) error
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		accept = q.Accept
		go func() { late <- q.Accept(context.Background(), raw("1")) }()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	run := r.begin(flow(asks(func(context.Context, *workflow.Context, json.RawMessage) (json.RawMessage, error) {
		checking <- struct{}{}
		<-goOn
		return raw("1"), nil
	})))
	<-checking
	run.Cancel()
	result, _ := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "")
	close(goOn)
	for _, err := range []error{<-late, accept(t.Context(), raw("2"))} {
		if !errors.Is(err, engine.ErrStepOver) {
			t.Errorf("late submission: %v", err)
		}
	}
}

// While one submission is checked a second one waits, or gives up.
func TestSubmissionsAreCheckedOneByOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	checking, goOn := make(chan struct{}), make(chan struct{})
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		first := make(chan error)
		go func() { first <- q.Accept(ctx, raw("1")) }()
		<-checking
		impatient, cancel := context.WithCancel(ctx)
		cancel()
		if err := q.Accept(impatient, raw("2")); !errors.Is(err, context.Canceled) {
			t.Errorf("second submission: %v", err)
		}
		close(goOn)
		return nil, <-first
	})
	result, _ := r.run(flow(asks(func(_ context.Context, _ *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
		checking <- struct{}{}
		<-goOn
		return output, nil
	})))
	r.want(result, runbundle.Completed, "", "")
}

func TestDecisionIsRejectedInTheSameAttempt(t *testing.T) {
	t.Parallel()
	decide := workflow.Decision{
		ID: "decide", Routes: []string{"go", "stop"},
		Question: func(context.Context, *workflow.Context) (string, error) { return "Go on?", nil },
	}
	edge, err := workflow.DecisionEdge("decide", decide.Routes, []workflow.Case{{Value: "go", To: "decide"}, {Value: "stop", To: "end"}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	turn := 0
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		if turn++; turn == 1 {
			return submits(t, `{"route":"back","reason":""}`, `{"route":"go","reason":"why not"}`)(ctx, q)
		}
		return submits(t, `{"route":"stop","reason":"enough"}`)(ctx, q)
	})
	d := flow(decide.Node(), compute("end", gives("end", nil)))
	d.Edges = []workflow.Edge{edge}
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); strings.Count(got, "decide:ok") != 2 || len(b.State.Steps) != 3 {
		t.Errorf("steps %s", got)
	}
}
