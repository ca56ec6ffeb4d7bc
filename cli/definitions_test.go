package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/workflow"
)

// The definitions of the tests: a controller that echoes its spec, and
// workflows that greet, fail, wait and hang.

type echoSpec struct {
	Text string `json:"text"`
	// Fail makes each pass fail; Hold keeps the resource from being deleted
	// until it is lifted; Greet starts a child run.
	Fail  bool `json:"fail,omitempty"`
	Hold  bool `json:"hold,omitempty"`
	Greet bool `json:"greet,omitempty"`
	Late  bool `json:"late,omitempty"`
	// Doubt has an effect of which nobody knows whether it was made.
	Doubt bool `json:"doubt,omitempty"`
	// Note has an effect that adds the text to a file, unless it is found there.
	Note string `json:"note,omitempty"`
}

type echoStatus struct {
	Text string `json:"text"`
}

type echo struct{}

func (echo) Reconcile(ctx context.Context, p *controller.Pass, r controller.Resource[echoSpec, echoStatus]) (controller.Result[echoStatus], error) {
	patch := controller.Patch[echoStatus]{
		ControllerStatus: &echoStatus{Text: r.Spec.Text},
		Conditions:       []controller.Condition{controller.ConditionTrue(controller.Ready, "Echoed", r.Spec.Text)},
		Finalizers:       []string{},
	}
	if r.Spec.Hold {
		patch.Finalizers = []string{"echo-hold"}
	}
	if r.Spec.Doubt {
		return ring(ctx, p, patch)
	}
	switch {
	case r.Spec.Note != "":
		return note(ctx, p, r.Spec, patch)
	case r.Spec.Fail:
		return controller.Result[echoStatus]{}, errors.New("told to fail")
	case r.Spec.Late:
		return controller.RequeueAfter(time.Hour, patch), nil
	case r.Spec.Greet && !r.Metadata.Deleting():
		return greet(ctx, p, r, patch)
	}
	return controller.Settled(patch), nil
}

// ring rings a bell that nobody hears.
func ring(ctx context.Context, p *controller.Pass, patch controller.Patch[echoStatus]) (controller.Result[echoStatus], error) {
	_, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: "ring", Kind: "bell", Request: "loud",
		Observe: func(context.Context) (controller.Observation, error) {
			return controller.Observation{State: controller.ObservedIndeterminate}, nil
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			return controller.Application{State: controller.EffectIndeterminate, Reason: "nobody heard it"}, nil
		},
	})
	return controller.Settled(patch), err
}

// note adds the text to a file; what is there is found by looking.
func note(ctx context.Context, p *controller.Pass, s echoSpec, patch controller.Patch[echoStatus]) (controller.Result[echoStatus], error) {
	_, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: "note:" + s.Text, Kind: "note", Request: s.Text,
		Observe: func(context.Context) (controller.Observation, error) {
			text, err := os.ReadFile(s.Note)
			if errors.Is(err, os.ErrNotExist) || err == nil && !strings.Contains(string(text), s.Text) {
				return controller.Observation{State: controller.ObservedNotApplied}, nil
			}
			return controller.Observation{State: controller.ObservedApplied}, err
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			f, err := os.OpenFile(s.Note, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return controller.Application{}, err
			}
			_, err = f.WriteString(s.Text + "\n")
			return controller.Application{State: controller.EffectApplied}, errors.Join(err, f.Close())
		},
	})
	return controller.Settled(patch), err
}

func greet(ctx context.Context, p *controller.Pass, r controller.Resource[echoSpec, echoStatus], patch controller.Patch[echoStatus]) (controller.Result[echoStatus], error) {
	run, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{
		RequestKey: "greet:" + r.Spec.Text, Workflow: "greet", Input: map[string]string{"name": r.Spec.Text},
	})
	if err != nil {
		return controller.Result[echoStatus]{}, err
	}
	if run.State != controller.RunSucceeded {
		patch.Conditions = []controller.Condition{controller.ConditionUnknown(controller.Ready, "Greeting", "")}
	}
	return controller.Settled(patch), nil
}

type greetInput struct {
	Name string `json:"name"`
}

var greetWorkflow = &workflow.Definition{
	Name: "greet", Revision: "1", StartAt: "look",
	Input: func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		var in greetInput
		if err := json.Unmarshal(input, &in); err != nil || in.Name == "" {
			return nil, errors.New(`a name is required, for example {"name":"Ada"}`)
		}
		return input, nil
	},
	Nodes: []workflow.Node{
		workflow.Compute{ID: "look", Run: look},
		workflow.Compute{ID: "hello", StatusDetail: "thinking of something nice", Run: hello},
		workflow.Compute{ID: "refuse", Run: refuse},
		workflow.Checkpoint{ID: "ask", Summary: "shall we?"},
		workflow.Compute{ID: "hang", StatusDetail: "until it is stopped", Run: hang},
	},
	Edges: []workflow.Edge{{From: "look", Switch: &workflow.Switch{On: "$.route", Cases: []workflow.Case{
		{Value: "hello", To: "hello"}, {Value: "refuse", To: "refuse"}, {Value: "ask", To: "ask"}, {Value: "hang", To: "hang"},
	}}}},
}

func look(_ context.Context, c *workflow.Context) (any, error) {
	in, err := workflow.InputAs[greetInput](c)
	route := "hello"
	if slices.Contains([]string{"refuse", "ask", "hang"}, in.Name) {
		route = in.Name
	}
	return map[string]string{"route": route, "reason": "the name is " + in.Name}, err
}

func hello(_ context.Context, c *workflow.Context) (any, error) {
	in, err := workflow.InputAs[greetInput](c)
	return map[string]string{"greeting": "hello " + in.Name}, err
}

func refuse(context.Context, *workflow.Context) (any, error) {
	return nil, errors.New("nobody to\x1b[31m greet")
}

// callbackEnv names the address that the node hang calls once it is at work.
const callbackEnv = "HANG_CALLS"

func hang(ctx context.Context, _ *workflow.Context) (any, error) {
	if address := os.Getenv(callbackEnv); address != "" {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		defer c.Close()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// survey asks an agent for a number and then whether that is enough.
var surveyWorkflow = &workflow.Definition{
	Name: "survey", Revision: "1", StartAt: "count",
	Nodes: []workflow.Node{
		workflow.Agent{
			ID: "count", ExpectedOutput: "a number above zero", Prompt: gives("How many are there?"),
			Validate: func(_ context.Context, _ *workflow.Context, output json.RawMessage) (json.RawMessage, error) {
				var n int
				if err := json.Unmarshal(output, &n); err != nil || n <= 0 {
					return nil, errors.New("that is no number above zero")
				}
				return output, nil
			},
		},
		workflow.Decision{
			ID: "enough", Routes: []string{"more", "done"}, Question: gives("Is that enough?"), Limit: workflow.DecisionLimit{Submissions: 2},
		}.Node(),
		workflow.Compute{ID: "sum", Run: func(_ context.Context, c *workflow.Context) (any, error) {
			return workflow.OutputAs[int](c, "count")
		}},
	},
	Edges: []workflow.Edge{{From: "count", To: "enough"}, {From: "enough", Switch: &workflow.Switch{On: "$.route", Cases: []workflow.Case{
		{Value: "more", To: "count"}, {Value: "done", To: "sum"},
	}}}},
}

func gives(text string) func(context.Context, *workflow.Context) (string, error) {
	return func(context.Context, *workflow.Context) (string, error) { return text, nil }
}

// brokenWorkflow has five mistakes.
var brokenWorkflow = &workflow.Definition{
	Name: "broken", StartAt: "nowhere",
	Nodes: []workflow.Node{workflow.Compute{ID: "a"}, workflow.Compute{ID: "b", Run: hello}},
	Edges: []workflow.Edge{{From: "a", To: "gone"}, {From: "b", To: "also-gone"}},
}

func testDefinitions() host.Definitions {
	return host.Definitions{
		Controllers: []*controller.Definition{controller.Define("echo", echo{})},
		Workflows:   []*workflow.Definition{greetWorkflow, surveyWorkflow, buildWorkflow},
	}
}

func brokenDefinitions() host.Definitions {
	d := testDefinitions()
	d.Workflows = append(d.Workflows, brokenWorkflow)
	return d
}

var _ controller.Reconciler[echoSpec, echoStatus] = echo{}
