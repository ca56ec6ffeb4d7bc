package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// replies is an executor whose agent answers one step after the other; a list
// holds the answers of one step, of which the last is meant to be accepted.
func replies(t *testing.T, rejected *[]error, steps ...[]string) script {
	t.Helper()
	return func(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
		if len(steps) == 0 {
			return nil, errors.New("the agent left")
		}
		answers := steps[0]
		steps = steps[1:]
		for _, answer := range answers {
			if err := r.Accept(ctx, raw(answer)); err != nil {
				*rejected = append(*rejected, err)
			}
		}
		return nil, nil
	}
}

const (
	mends   = `{"route":"mend","reason":"something is open"}`
	blocks  = `{"route":"blocked","reason":"stuck","blocker":"b","evidence":["e"],"alternatives":["a"]}`
	retires = `{"route":"complete","reason":"nothing is open"}`
)

// opens is the input of a tidy run.
func opens(findings ...string) json.RawMessage {
	return raw(fmt.Sprintf(`{"open":[%s]}`, strings.Join(findings, ",")))
}

func TestTwoNodeDecision(t *testing.T) {
	t.Parallel()
	leaves := func(open ...string) workflow.Func { return gives(findings{Open: open}, nil) }
	mended := "observe:ok assess:ok decide:ok mend:ok mended:ok "
	tests := map[string]struct {
		input    json.RawMessage
		mend     workflow.Func
		replies  [][]string
		trail    string
		rejected int
		output   string
	}{
		"complete": {
			opens(), leaves(), [][]string{{retires}},
			"observe:ok assess:ok decide:ok prepareCompleted:ok", 0, `"nothing is open"`,
		},
		"a branch returns": {
			opens(`"x"`), leaves(), [][]string{{mends}, {retires}},
			mended + "observe:ok assess:ok decide:ok prepareCompleted:ok", 0, `"nothing is open"`,
		},
		"blocked": {
			opens(`"x"`), leaves(), [][]string{{blocks}},
			"observe:ok assess:ok decide:ok prepareBlocked:ok", 0, `{"blocker":"b","evidence":["e"],"alternatives":["a"]}`,
		},
		"corrected in the same attempt": {
			opens(`"x"`), leaves(), [][]string{{`"mend"`, `{"route":"toString","reason":"r"}`, retires, mends}, {retires}},
			mended + "observe:ok assess:ok decide:ok prepareCompleted:ok", 3, `"nothing is open"`,
		},
		"no progress, corrected in the same attempt": {
			opens(`"x"`), leaves("x"), [][]string{{mends}, {mends, blocks}},
			mended + "observe:ok assess:ok decide:ok prepareBlocked:ok", 1, `{"blocker":"b","evidence":["e"],"alternatives":["a"]}`,
		},
		"the agent fails": {
			opens(`"x"`), leaves(), nil,
			"observe:ok assess:failed prepareBlocked:ok", 0, `"evidence":["attempt 00000000-0000-4000-8000-000000000002 ended failed: the agent left"]`,
		},
		"the agent fails later": {
			opens(`"x"`), leaves("y"), [][]string{{mends}},
			mended + "observe:ok assess:failed prepareBlocked:ok", 0, `"blocker":"no decision could be made"`,
		},
		"nothing is accepted": {
			opens(`"x"`), leaves(), [][]string{{`{}`, retires}},
			"observe:ok assess:failed prepareBlocked:ok", 2, `without a submission that was accepted`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start.Input = test.input
			var rejected []error
			r.options.Agents = replies(t, &rejected, test.replies...)
			result, b := r.run(tidy(test.mend))
			r.want(result, runbundle.Completed, "", "")
			if got := trail(b); got != test.trail {
				t.Errorf("steps %s\nwant  %s", got, test.trail)
			}
			if !strings.Contains(string(result.FinalOutput), test.output) {
				t.Errorf("output %s", result.FinalOutput)
			}
			if len(rejected) != test.rejected {
				t.Errorf("rejections %q", rejected)
			}
			for _, err := range rejected {
				wantErr[*workflow.DecisionError](t, err)
			}
		})
	}
}

// A decision that takes too long is a blocker, one that is cancelled ends the
// run at once.
func TestTwoNodeDecisionThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		r := newRig(t)
		r.start.Input = opens(`"x"`)
		working := make(chan struct{})
		r.options.Agents = script(func(ctx context.Context, _ engine.AgentRequest) (*runbundle.Conversation, error) {
			close(working)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		d := tidy(gives(nil, nil))
		assess, _ := d.Nodes[1].(workflow.Agent)
		assess.Timeout = 3 * time.Second
		d.Nodes[1] = assess
		run := r.begin(d)
		<-working
		status, code, steps := runbundle.Completed, "", "observe:ok assess:timed_out prepareBlocked:ok"
		if cancel {
			run.Cancel()
			status, code, steps = runbundle.Cancelled, engine.CodeCancelled, "observe:ok assess:cancelled"
		} else {
			r.clock.await(t, assess.Timeout, 1)
			r.clock.Advance(assess.Timeout)
		}
		result, b := r.finish(run)
		r.want(result, status, code, "")
		if got := trail(b); got != steps {
			t.Errorf("steps %s, want %s", got, steps)
		}
	}
}

// In one node the failure of the agent is the end of the run.
func TestDecisionInOneNode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Agents = replies(t, new([]error), []string{mends})
	decide := workflow.Decision{ID: "decide", Question: question, Routes: []string{"mend", "complete"}}
	decide.Question = func(context.Context, *workflow.Context) (string, error) { return "What now?", nil }
	d := flow(decide.Node(), compute("mend", gives(nil, nil)), compute("complete", gives(nil, nil)))
	edge, err := workflow.DecisionEdge("decide", decide.Routes, []workflow.Case{{Value: "mend", To: "mend"}, {Value: "complete", To: "complete"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Edges = []workflow.Edge{edge, {From: "mend", To: "decide"}}
	result, b := r.run(d)
	r.want(result, runbundle.Failed, engine.CodeNode, "the agent left")
	if got := trail(b); got != "decide:ok mend:ok decide:failed" {
		t.Errorf("steps %s", got)
	}
}

// stubborn is a deterministic loop that always wants to work, on a fact that
// changes so many times.
func stubborn(changes int, decide func(s workflow.Standing, err error) (any, error)) *workflow.Definition {
	loop := workflow.MustControlLoop(workflow.Loop{Decide: "decide", ReturnTo: "observe", Routes: []workflow.Route{
		{Name: "work", To: "work", Returns: []string{"worked"}},
		{Name: "wait", To: "wait", Returns: []string{"wait"}},
		{Name: "blocked", To: "blocked", Terminal: true},
	}})
	guard := workflow.LoopGuard{Loop: loop, Waits: []workflow.Wait{{Route: "wait", Most: 2}},
		Facts: func(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
			n, err := workflow.OutputAs[int](c, "observe")
			return workflow.Facts{"n": n}, err
		}}
	observe := func(_ context.Context, c *workflow.Context) (any, error) {
		n := 0
		for i := range c.View.Steps() {
			if c.View.Step(i).NodeID == "work" {
				n++
			}
		}
		return min(n, changes), nil
	}
	d := flow(compute("observe", observe), compute("decide", func(ctx context.Context, c *workflow.Context) (any, error) {
		s, err := guard.Standing(ctx, c)
		if err != nil {
			return nil, err
		}
		out, err := s.Admit(workflow.DecisionOutput{Route: "work", Reason: "r"})
		if err != nil {
			return decide(s, err)
		}
		return out, nil
	}), compute("work", gives(nil, errors.New("broke"))), compute("worked", gives(nil, nil)),
		compute("wait", gives(nil, nil)), compute("blocked", gives("gave up", nil)))
	d.Edges = append([]workflow.Edge{
		{From: "observe", To: "decide"},
		{From: "work", Switch: routes("$result.outcome", "ok>worked", "failed>worked", "timed_out>worked")},
	}, loop.Edges()...)
	return d
}

func TestDeterministicLoopWithoutProgress(t *testing.T) {
	t.Parallel()
	const turn = "observe:ok decide:ok work:failed worked:ok "
	tests := map[string]struct {
		decide       func(s workflow.Standing, err error) (any, error)
		status       runbundle.Status
		code, trails string
	}{
		"left to itself it fails": {
			func(_ workflow.Standing, err error) (any, error) { return nil, err },
			runbundle.Failed, "no_progress", turn + turn + turn + "observe:ok decide:failed",
		},
		"takes the only route there is, after its waits": {
			giveUp,
			runbundle.Completed, "",
			turn + turn + turn + strings.Repeat("observe:ok decide:ok wait:ok ", 2) + "observe:ok decide:ok blocked:ok",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result, b := r.run(stubborn(2, test.decide))
			r.want(result, test.status, test.code, "")
			if got := trail(b); got != test.trails {
				t.Errorf("steps %s\nwant  %s", got, test.trails)
			}
		})
	}
}

// giveUp takes the first route that is open, and says why if it gives up.
func giveUp(s workflow.Standing, _ error) (any, error) {
	out := workflow.DecisionOutput{Route: s.Open[0], Reason: "nothing else is open"}
	if s.Stuck {
		b := s.Blocked()
		out.Blocker, out.Evidence, out.Alternatives = b.Blocker, b.Evidence, b.Alternatives
	}
	out, err := s.Admit(out)
	return out, errors.Join(err, out.Check([]string{"work", "wait", "blocked"}, "blocked"))
}

// A guard reads steps only: parked in any of them, a run decides as one that
// nothing disturbed.
func TestGuardSurvivesAResume(t *testing.T) {
	t.Parallel()
	_, whole := newRig(t).run(stubborn(2, giveUp))
	for n := 1; n <= len(whole.State.Steps); n++ {
		t.Run("parked in step "+strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.at(runbundle.EventNodeStarted, n, (*engine.Run).Park)
			if result, _ := r.run(stubborn(2, giveUp)); !result.Parked {
				t.Fatalf("result %+v", result)
			}
			_, b := r.finish(r.resume(stubborn(2, giveUp)))
			if got, want := trail(b), trail(whole); got != want {
				t.Errorf("steps %s\nwant  %s", got, want)
			}
		})
	}
}

// A declared wait that is a checkpoint counts over the runs that continue it.
func TestGuardSurvivesAContinuation(t *testing.T) {
	t.Parallel()
	waiting := func() *workflow.Definition {
		d := stubborn(2, giveUp)
		i := slices.IndexFunc(d.Nodes, func(n workflow.Node) bool { return n.NodeID() == "wait" })
		d.Nodes[i] = workflow.Checkpoint{ID: "wait"}
		return d
	}
	r := newRig(t)
	result, b := r.run(waiting())
	for answers := 0; result.Status == runbundle.Waiting; answers++ {
		if answers == 2 {
			t.Fatalf("it still waits after %s", trail(b))
		}
		r.events = nil
		run, err := engine.New(r.options).Continue(t.Context(), r.graph(waiting()), engine.ContinueOptions{
			Parent: result.RunID, RunID: continuationID + strconv.Itoa(answers), Observe: r.start.Observe,
		})
		result, b = r.finish(r.took(run, err))
	}
	_, whole := newRig(t).run(stubborn(2, giveUp))
	if got, want := trail(b), trail(whole); got != want {
		t.Errorf("steps %s\nwant  %s", got, want)
	}
}
