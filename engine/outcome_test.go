package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func TestOutcomesOfACallback(t *testing.T) {
	t.Parallel()
	type point struct {
		X int    `json:"x"`
		S string `json:"s"`
	}
	tests := []struct {
		name          string
		run           workflow.Func
		status        runbundle.Status
		code, message string
		output        string
	}{
		{"value", gives(point{1, "<&>"}, nil), runbundle.Completed, "", "", `{"x":1,"s":"<&>"}`},
		{"nothing", gives(nil, nil), runbundle.Completed, "", "", "null"},
		{"no text", gives(json.RawMessage(nil), nil), runbundle.Completed, "", "", "null"},
		{"empty text", gives(raw(""), nil), runbundle.Failed, "node_failed", "output of node a", ""},
		{"text as it is", gives(raw(` {"b": 1.50, "a":"\u0041"} `), nil), runbundle.Completed, "", "", `{"b":1.50,"a":"\u0041"}`},
		{"error", gives(1, errors.New("no luck")), runbundle.Failed, "node_failed", "no luck", ""},
		{"error with a code", gives(nil, fmt.Errorf("x: %w", &limit.Error{What: "y"})), runbundle.Failed, "limit_exceeded", "x: y", ""},
		{"error that is no text", gives(nil, errors.New("bad \xff")), runbundle.Failed, "node_failed", "bad \uFFFD", ""},
		{"its own deadline", gives(nil, fmt.Errorf("x: %w", &engine.TimeoutError{What: "the poll", After: 1500e6})), runbundle.TimedOut, "node_timed_out", "the poll timed out after 1500 ms", ""},
		{"a foreign deadline", gives(nil, context.DeadlineExceeded), runbundle.Failed, "node_failed", "deadline exceeded", ""},
		{"a foreign cancellation", gives(nil, context.Canceled), runbundle.Failed, "node_failed", "canceled", ""},
		{"panic", func(context.Context, *workflow.Context) (any, error) { panic("ouch") }, runbundle.Failed, "callback_panicked", "node a panicked: ouch", ""},
		{"end of the goroutine", func(context.Context, *workflow.Context) (any, error) { runtime.Goexit(); return nil, nil }, runbundle.Failed, "node_failed", "ended its goroutine", ""},
		{"no JSON", gives(make(chan int), nil), runbundle.Failed, "node_failed", "output of node a", ""},
		{"not a number", gives(math.NaN(), nil), runbundle.Failed, "node_failed", "NaN", ""},
		{"large integer", gives(int64(1<<53+1), nil), runbundle.Failed, "node_failed", "as strings", ""},
		{"duplicate key", gives(raw(`{"a":{"b":1,"b":2}}`), nil), runbundle.Failed, "node_failed", "/a", ""},
		{"lone surrogate", gives(raw(`"\ud800"`), nil), runbundle.Failed, "node_failed", "surrogate", ""},
		{"invalid UTF-8", gives("\xff", nil), runbundle.Failed, "node_failed", "UTF-8", ""},
		{"too deep", gives(raw(strings.Repeat("[", 600)+strings.Repeat("]", 600)), nil), runbundle.Failed, "node_failed", "deeper", ""},
		{"prototype keys", gives(raw(`{"__proto__":1,"constructor":2}`), nil), runbundle.Completed, "", "", `{"__proto__":1,"constructor":2}`},
		{"panicking value", gives(panics{}, nil), runbundle.Failed, "callback_panicked", "node a panicked", ""},
		{"too large", gives(strings.Repeat("x", workflow.MaxValueBytes-1), nil), runbundle.Failed, "limit_exceeded", "output of node a is 1048577 bytes", ""},
		{"just not too large", gives(strings.Repeat("x", workflow.MaxValueBytes-2), nil), runbundle.Completed, "", "", `"` + strings.Repeat("x", workflow.MaxValueBytes-2) + `"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result, b := r.run(flow(compute("a", test.run)))
			r.want(result, test.status, test.code, test.message)
			if got := string(result.FinalOutput); got != test.output {
				t.Errorf("final output %.100s, want %.100s", got, test.output)
			}
			step := b.State.Steps[0]
			if string(step.Output) != test.output || step.Error != result.Error {
				t.Errorf("step has output %.100s, error %q", step.Output, step.Error)
			}
		})
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, _ := r.run(flow(compute("a", gives(nil, errors.New("begin "+strings.Repeat("é", 1<<20)+" end")))))
	if len(result.Error) > 8<<10 || !strings.HasPrefix(result.Error, "begin é") || !strings.HasSuffix(result.Error, "é end") {
		t.Errorf("error of %d bytes: %.20q", len(result.Error), result.Error)
	}
}

func routes(on string, cases ...string) *workflow.Switch {
	s := &workflow.Switch{On: on}
	for _, c := range cases {
		value, to, _ := strings.Cut(c, ">")
		s.Cases = append(s.Cases, workflow.Case{Value: value, To: to})
	}
	return s
}

func TestRouting(t *testing.T) {
	t.Parallel()
	slow := &engine.TimeoutError{What: "it"}
	tests := []struct {
		name          string
		run           workflow.Func
		edge          *workflow.Edge
		status        runbundle.Status
		code, message string
		trail         string
	}{
		{"ok, plain", gives(1, nil), &workflow.Edge{To: "b"}, runbundle.Completed, "", "", "a:ok b:ok"},
		{"ok, by output", gives(raw(`{"r":"x"}`), nil), &workflow.Edge{Switch: routes("$.r", "y>c", "x>b")}, runbundle.Completed, "", "", "a:ok b:ok"},
		{"ok, by outcome", gives(1, nil), &workflow.Edge{Switch: routes("$result.outcome", "ok>b", "failed>c")}, runbundle.Completed, "", "", "a:ok b:ok"},
		{"ok, by output of the result", gives(2, nil), &workflow.Edge{Switch: routes("$result.output", "2>b", "3>c")}, runbundle.Completed, "", "", "a:ok b:ok"},
		{"ok, no case", gives(raw(`{"r":"toString"}`), nil), &workflow.Edge{Switch: routes("$.r", "x>b", "y>c")}, runbundle.Failed, "route_failed", "toString", "a:ok"},
		{"ok, no scalar", gives(raw(`{"r":[]}`), nil), &workflow.Edge{Switch: routes("$output.r", "x>b", "y>c")}, runbundle.Failed, "route_failed", "$output.r", "a:ok"},
		{"failed, plain", gives(1, errors.New("no")), &workflow.Edge{To: "b"}, runbundle.Failed, "node_failed", "no", "a:failed"},
		{"failed, by output", gives(1, errors.New("no")), &workflow.Edge{Switch: routes("$.r", "x>b", "y>c")}, runbundle.Failed, "node_failed", "no", "a:failed"},
		{"failed, by outcome", gives(1, errors.New("no")), &workflow.Edge{Switch: routes("$result.outcome", "ok>c", "failed>b")}, runbundle.Completed, "", "", "a:failed b:ok"},
		{"failed, outcome without a case", gives(1, errors.New("no")), &workflow.Edge{Switch: routes("$result.outcome", "ok>c", "timed_out>b")}, runbundle.Failed, "route_failed", "failed", "a:failed"},
		{"timed out, plain", gives(1, slow), &workflow.Edge{To: "b"}, runbundle.TimedOut, "node_timed_out", "it timed out", "a:timed_out"},
		{"timed out, by outcome", gives(1, slow), &workflow.Edge{Switch: routes("$result.outcome", "ok>c", "timed_out>b")}, runbundle.Completed, "", "", "a:timed_out b:ok"},
		{"timed out, outcome without a case", gives(1, slow), &workflow.Edge{Switch: routes("$result.outcome", "ok>c", "failed>b")}, runbundle.Failed, "route_failed", "timed_out", "a:timed_out"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.edge.From = "a"
			d := flow(compute("a", test.run), compute("b", gives("end", nil)), compute("c", gives("other", nil)))
			d.Edges = []workflow.Edge{*test.edge}
			if test.edge.To != "" {
				d.Nodes = d.Nodes[:2]
			}
			r := newRig(t)
			result, b := r.run(d)
			r.want(result, test.status, test.code, test.message)
			if got := trail(b); got != test.trail {
				t.Errorf("steps %s, want %s", got, test.trail)
			}
		})
	}
}

// loop runs one node again and again.
func loop(run workflow.Func) *workflow.Definition {
	d := flow(compute("a", run))
	d.Edges = []workflow.Edge{{From: "a", To: "a"}}
	return d
}

func TestMaxSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ definition, option, want int }{{3, 0, 3}, {3, 5, 3}, {0, 5, 5}, {0, 0, 100}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.MaxSteps = test.option
			d := loop(gives(1, nil))
			d.MaxSteps = test.definition
			result, b := r.run(d)
			r.want(result, runbundle.Failed, engine.CodeMaxSteps, fmt.Sprintf("exceeded maxSteps %d", test.want))
			if len(b.State.Steps) != test.want || len(b.Events) != 2*test.want+2 {
				t.Errorf("%d steps, %d events: the refused attempt must leave no trace", len(b.State.Steps), len(b.Events))
			}
		})
	}
}

func TestContextOfACallback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start.Input = raw(`{"n":1}`)
	turn := 0
	var ended context.Context
	last := func(ctx context.Context, c *workflow.Context) (any, error) {
		ended = ctx
		turn++
		if c.RunID != runID || string(c.Input) != `{"n":1}` || c.AttemptID == "" {
			t.Errorf("context %+v", c)
		}
		if c.View.Steps() != turn {
			t.Errorf("turn %d sees %d steps", turn, c.View.Steps())
		}
		copy(c.Input, `ruined!`) // must reach nobody
		if turn == 1 {
			output, _ := c.View.Output("a")
			copy(output, `ruined!`)
			copy(c.View.Step(0).Output, `ruined!`)
			return nil, errors.New("first")
		}
		if s := c.View.Step(1); s.NodeID != "b" || s.Outcome != workflow.Failed || s.Error != "first" || s.Output != nil {
			t.Errorf("step %+v", s)
		}
		if s := c.View.Step(0); string(s.Output) != `{"from":"a"}` || s.NodeType != workflow.TypeCompute {
			t.Errorf("step %+v", s)
		}
		if output, ok := c.View.Output("a"); string(output) != `{"from":"a"}` || !ok {
			t.Errorf("output %s %v", output, ok)
		}
		if _, ok := c.View.Output("b"); ok {
			t.Error("a failed attempt has an output")
		}
		if result, ok := c.View.Result("b"); !ok || result.Outcome != workflow.Failed || result.Error != "first" {
			t.Errorf("result %+v %v", result, ok)
		}
		if _, ok := c.View.Result("none"); ok {
			t.Error("a node that did not run has a result")
		}
		return "done", nil
	}
	d := flow(compute("a", gives(raw(`{"from":"a"}`), nil)), compute("b", last))
	d.Edges = append(d.Edges, workflow.Edge{From: "b", Switch: routes("$result.outcome", "failed>b", "ok>c")})
	d.Nodes = append(d.Nodes, compute("c", gives(1, nil)))
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); got != "a:ok b:failed b:ok c:ok" {
		t.Errorf("steps %s", got)
	}
	if ended.Err() == nil {
		t.Error("the context of an ended attempt goes on")
	}
}

func TestObserverMayPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		r.observe(e, v)
		panic("observer")
	}
	result, _ := r.run(flow(compute("a", gives(1, nil))))
	r.want(result, runbundle.Completed, "", "")
}
