package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// decides is a workflow with one decision, whose every outcome has an edge: none
// of them may be taken when the decision is blocked.
func decides(limit workflow.DecisionLimit) *workflow.Definition {
	decide := workflow.Decision{
		ID: "decide", Routes: []string{"go", "stop"}, Limit: limit,
		Question: func(context.Context, *workflow.Context) (string, error) { return "Go on?", nil },
	}
	d := flow(decide.Node(), compute("end", gives("end", nil)), compute("again", gives("again", nil)))
	d.Edges = []workflow.Edge{{From: "decide", Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
		{Value: "ok", To: "end"}, {Value: "failed", To: "again"}, {Value: "timed_out", To: "again"},
	}}}}
	return d
}

// blocked checks that the run ended with its decision.
func (r *rig) blocked(result engine.Result, b *runbundle.Bundle, parts ...string) {
	r.t.Helper()
	r.want(result, runbundle.Failed, engine.CodeDecisionBlocked, "decision decide is blocked")
	for _, part := range parts {
		if !strings.Contains(result.Error, part) {
			r.t.Errorf("the error does not say %q: %s", part, result.Error)
		}
	}
	if got := trail(b); got != "decide:failed" {
		r.t.Errorf("steps %s: a blocked decision is not routed", got)
	}
}

func TestDecisionUsesUpItsSubmissions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var errs []error
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		for _, answer := range []string{`"perhaps"`, `{"route":"go"}`, `{"route":"back"}`, `{"route":"go","reason":"too late"}`} {
			errs = append(errs, q.Accept(ctx, raw(answer)))
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	result, b := r.run(decides(workflow.DecisionLimit{Name: "the boss", Submissions: 3}))
	r.blocked(result, b, `"the boss"`, "submissions 3", "after 3 rejected", `"back" is not a route`, "reason: say why")
	for _, err := range errs[:2] {
		wantErr[*engine.SubmissionError](t, err)
	}
	blocked := wantErr[*engine.DecisionBlockedError](t, errs[2])
	if blocked.NodeID != "decide" || blocked.Rejections != 3 || blocked.Limit.Name != "the boss" || !strings.Contains(blocked.Reason, "back") {
		t.Errorf("blocked %+v", blocked)
	}
	if !errors.Is(errs[3], engine.ErrStepOver) {
		t.Errorf("an answer after the end: %v", errs[3])
	}
}

// The accepted answer may be the last one that the limit allows.
func TestDecisionWithItsLastSubmission(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = submits(t, `1`, `2`, `{"route":"go","reason":"it is time"}`)
	result, b := r.run(decides(workflow.DecisionLimit{Submissions: 3}))
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); got != "decide:ok end:ok" {
		t.Errorf("steps %s", got)
	}
}

func TestDecisionUsesUpItsTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rejected := make(chan error, 1)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		rejected <- q.Accept(ctx, raw(`{"route":"go"}`))
		<-ctx.Done()
		return nil, ctx.Err()
	})
	run := r.begin(decides(workflow.DecisionLimit{Active: 90 * time.Second}))
	wantErr[*engine.SubmissionError](t, <-rejected)
	r.clock.await(t, 90*time.Second, 1)
	r.clock.Advance(90 * time.Second)
	result, b := r.finish(run)
	r.blocked(result, b, `"decide"`, "active time 1m30s", "after 1 rejected", "reason: say why")
}

func TestDecisionWithoutAnySubmission(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, _ engine.AgentRequest) (*runbundle.Conversation, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	run := r.begin(decides(workflow.DecisionLimit{}))
	r.clock.await(t, workflow.DefaultDecisionActive, 1)
	r.clock.Advance(workflow.DefaultDecisionActive)
	result, b := r.finish(run)
	r.blocked(result, b, "without a submission")
}

// The time in which a person holds the step does not count, however many hold it
// and however often one of them lets go.
func TestHeldTimeDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hold := make(chan func() func(), 1)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		hold <- q.Hold
		<-ctx.Done()
		return nil, ctx.Err()
	})
	run := r.begin(decides(workflow.DecisionLimit{Active: time.Minute}))
	r.clock.await(t, time.Minute, 1)
	take := <-hold
	r.clock.Advance(20 * time.Second)
	first, second := take(), take()
	r.clock.Advance(time.Hour)
	first()
	first()
	r.clock.Advance(time.Hour)
	select {
	case <-run.Done():
		t.Fatal("the run ended while its decision was held")
	default:
	}
	second()
	r.clock.await(t, 40*time.Second, 1)
	r.clock.Advance(39 * time.Second)
	third := take()
	r.clock.Advance(time.Hour)
	third()
	r.clock.await(t, time.Second, 1)
	r.clock.Advance(time.Second)
	result, b := r.finish(run)
	r.blocked(result, b)
	take()() // after the end it means nothing
}

// An accepted answer stands although the executor takes longer than the limit
// to end.
func TestAcceptedDecisionIsNotBlocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		err := q.Accept(ctx, raw(`{"route":"go","reason":"it is time"}`))
		r.clock.Advance(time.Hour)
		return nil, err
	})
	result, _ := r.run(decides(workflow.DecisionLimit{Active: time.Minute}))
	r.want(result, runbundle.Completed, "", "")
}

// Only decisions are bounded; other steps may be held and correct themselves as
// long as their deadline allows.
func TestOtherStepsHaveNoSuchLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		q.Hold()()
		for range 3 * workflow.DefaultDecisionSubmissions {
			wantErr[*engine.SubmissionError](t, q.Accept(ctx, raw("0")))
		}
		return nil, q.Accept(ctx, raw("1"))
	})
	result, _ := r.run(flow(asks(notZero)))
	r.want(result, runbundle.Completed, "", "")
}

func TestCancelBeatsTheLimitOfADecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = script(func(ctx context.Context, q engine.AgentRequest) (*runbundle.Conversation, error) {
		<-ctx.Done()
		if err := q.Accept(context.WithoutCancel(ctx), raw("1")); !errors.Is(err, engine.ErrStepOver) {
			t.Errorf("an answer after the cancellation: %v", err)
		}
		return nil, ctx.Err()
	})
	run := r.begin(decides(workflow.DecisionLimit{Active: time.Minute, Submissions: 1}))
	r.clock.await(t, time.Minute, 1)
	run.Cancel()
	result, _ := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "")
}

// A run that was killed between the end of its decision and its own is not
// routed by the next owner either.
func TestResumeOfABlockedDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = submits(t, "1")
	var gone error
	r.start.Fence = func(context.Context) error { return gone }
	r.at(runbundle.EventNodeFailed, 1, func(*engine.Run) {
		gone = &lease.LostError{What: runID, Reason: lease.Taken}
	})
	d := decides(workflow.DecisionLimit{Submissions: 1})
	if result := r.begin(d).Wait(); !errors.Is(result.Err, lease.ErrLost) || result.Status != runbundle.Running {
		t.Fatalf("the run ended: %+v", result)
	}
	gone = nil
	result, b := r.finish(r.resume(d))
	r.blocked(result, b, "after 1 rejected")
}
