package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// waits is a callback that says when it works, and returns when its context
// ends. What it returns then must not matter.
func waits(working chan<- struct{}) workflow.Func {
	return func(ctx context.Context, _ *workflow.Context) (any, error) {
		working <- struct{}{}
		<-ctx.Done()
		return "late", nil
	}
}

// ignores is a callback that takes no notice of its context until it is freed.
func ignores(working chan<- struct{}, freed <-chan struct{}) workflow.Func {
	return func(context.Context, *workflow.Context) (any, error) {
		working <- struct{}{}
		<-freed
		return "late", nil
	}
}

// after a is a timed out branch to b.
func timeoutRoute(a workflow.Node) *workflow.Definition {
	d := flow(a, compute("b", gives("recovered", nil)), compute("c", gives("never", nil)))
	d.Edges = []workflow.Edge{{From: a.NodeID(), Switch: routes("$result.outcome", "timed_out>b", "ok>c", "cancelled>c")}}
	return d
}

func TestDeadlineOfANode(t *testing.T) {
	t.Parallel()
	const set = 1234 * time.Millisecond
	fails := func(d time.Duration, err error) workflow.Limits {
		return workflow.Limits{Timeout: time.Hour, TimeoutFunc: func(context.Context, *workflow.Context) (time.Duration, error) { return d, err }}
	}
	tests := []struct {
		name   string
		limits workflow.Limits
		option time.Duration
		want   time.Duration
	}{
		{"fixed", workflow.Limits{Timeout: set}, 0, set},
		{"standard", workflow.Limits{}, 0, workflow.DefaultTimeout},
		{"standard of the engine", workflow.Limits{}, set, set},
		{"function", fails(set, nil), 0, set},
		{"function that takes the standard", fails(0, nil), set, set},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.DefaultTimeout = test.option
			working := make(chan struct{})
			run := r.begin(timeoutRoute(workflow.Compute{ID: "a", Limits: test.limits, Run: waits(working)}))
			<-working
			r.clock.await(t, test.want, 1)
			r.clock.Advance(test.want)
			result, b := r.finish(run)
			r.want(result, runbundle.Completed, "", "")
			if got := trail(b); got != "a:timed_out b:ok" {
				t.Errorf("steps %s", got)
			}
			step := b.State.Steps[0]
			if want := (&engine.TimeoutError{After: test.want}).Error(); step.Error != want || step.Output != nil {
				t.Errorf("step has error %q, output %s; want %q", step.Error, step.Output, want)
			}
			if got := step.FinishedAt.Sub(step.StartedAt.Time); got != test.want {
				t.Errorf("step took %s", got)
			}
		})
	}
}

func TestNoDeadline(t *testing.T) {
	t.Parallel()
	none := func(context.Context, *workflow.Context) (time.Duration, error) { return workflow.NoTimeout, nil }
	for _, limits := range []workflow.Limits{{Timeout: workflow.NoTimeout}, {TimeoutFunc: none}} {
		r := newRig(t)
		working, free := make(chan struct{}), make(chan struct{})
		run := r.begin(flow(workflow.Compute{ID: "a", Limits: limits, Run: func(ctx context.Context, _ *workflow.Context) (any, error) {
			working <- struct{}{}
			<-free
			return "ok", ctx.Err()
		}}))
		<-working
		r.clock.Advance(1000 * time.Hour)
		close(free)
		result, _ := r.finish(run)
		r.want(result, runbundle.Completed, "", "")
	}
}

func TestTimeoutFunctionFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		d       time.Duration
		err     error
		message string
	}{
		{"error", 0, errors.New("no idea"), "no idea"},
		{"too short", time.Microsecond, nil, "give at least 1ms"},
		{"negative", -2, nil, "give at least 1ms"},
	}
	for _, test := range tests {
		r := newRig(t)
		result, b := r.run(flow(workflow.Compute{
			ID: "a", Run: func(context.Context, *workflow.Context) (any, error) { t.Error("dispatched"); return nil, nil },
			Limits: workflow.Limits{TimeoutFunc: func(context.Context, *workflow.Context) (time.Duration, error) { return test.d, test.err }},
		}))
		r.want(result, runbundle.Failed, "node_failed", test.message)
		if got := trail(b); got != "a:failed" {
			t.Errorf("%s: steps %s", test.name, got)
		}
	}
}

func TestTimeoutFunctionIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.begin(flow(workflow.Compute{
		ID: "a", Run: gives(1, nil),
		Limits: workflow.Limits{TimeoutFunc: func(ctx context.Context, _ *workflow.Context) (time.Duration, error) {
			<-ctx.Done()
			return 0, nil
		}},
	}))
	r.clock.await(t, engine.CallbackTimeout, 1)
	r.clock.Advance(engine.CallbackTimeout)
	result, _ := r.finish(run)
	r.want(result, runbundle.TimedOut, "node_timed_out", "the timeout function of node a timed out after 30000 ms")
}

// A run goes on after a timeout only when the callback has returned.
func TestTimeoutWaitsForTheCallback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working, freed := make(chan struct{}), make(chan struct{})
	run := r.begin(timeoutRoute(workflow.Compute{ID: "a", Limits: workflow.Limits{Timeout: time.Minute}, Run: ignores(working, freed)}))
	<-working
	r.clock.await(t, time.Minute, 1)
	r.clock.Advance(time.Minute)
	r.clock.await(t, engine.DefaultSettleGrace, 1)
	r.clock.Advance(engine.DefaultSettleGrace - time.Millisecond)
	select {
	case <-run.Done():
		t.Fatal("went on while the callback still worked")
	default:
	}
	close(freed)
	result, b := r.finish(run)
	r.want(result, runbundle.Completed, "", "")
	if got := trail(b); got != "a:timed_out b:ok" {
		t.Errorf("steps %s", got)
	}
}

func TestUnsettledWorkFailsTheRun(t *testing.T) {
	t.Parallel()
	limits := workflow.Limits{Timeout: time.Minute}
	asking := func(prompt func(context.Context, *workflow.Context) (string, error)) workflow.Agent {
		return workflow.Agent{ID: "a", Limits: limits, Prompt: prompt}
	}
	for name, node := range map[string]func(work workflow.Func) workflow.Node{
		"compute": func(work workflow.Func) workflow.Node { return workflow.Compute{ID: "a", Limits: limits, Run: work} },
		"action":  func(work workflow.Func) workflow.Node { return workflow.Action{ID: "a", Limits: limits, Run: work} },
		"agent":   func(workflow.Func) workflow.Node { return asking(asks(nil).Prompt) },
		"prompt": func(work workflow.Func) workflow.Node {
			return asking(func(ctx context.Context, c *workflow.Context) (string, error) {
				_, err := work(ctx, c)
				return "late", err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.options.SettleGrace = 3 * time.Second
			working, freed := make(chan struct{}), make(chan struct{})
			defer close(freed)
			work := ignores(working, freed)
			r.options.Agents = script(func(ctx context.Context, _ engine.AgentRequest) (*runbundle.Conversation, error) {
				_, err := work(ctx, nil)
				return nil, err
			})
			run := r.begin(timeoutRoute(node(work)))
			<-working
			r.clock.await(t, time.Minute, 1)
			r.clock.Advance(time.Minute)
			r.clock.await(t, 3*time.Second, 1)
			r.clock.Advance(3 * time.Second)
			result, b := r.finish(run)
			r.want(result, runbundle.Failed, engine.CodeUnsettled, "still works 3000 ms after its attempt ended (timed out after 60000 ms")
			if got := trail(b); got != "a:timed_out" {
				t.Errorf("steps %s", got)
			}
		})
	}
}

// heard is a log that tells of each of its lines.
type heard struct {
	slog.Handler
	lines chan string
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }

func (h heard) Handle(_ context.Context, line slog.Record) error {
	h.lines <- line.Message
	return nil
}

// Nobody may begin the work of a parked run anew while it goes on.
func TestParkWaitsForUnsettledWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	log := heard{slog.DiscardHandler, make(chan string, 1)}
	r.options.Logger = slog.New(log)
	working, freed := make(chan struct{}), make(chan struct{})
	run := r.begin(flow(compute("a", ignores(working, freed))))
	<-working
	run.Park()
	r.clock.await(t, engine.DefaultSettleGrace, 1)
	r.clock.Advance(engine.DefaultSettleGrace)
	if line := <-log.lines; line != "work of an ended attempt goes on" {
		t.Errorf("the log says %q", line)
	}
	_, err := engine.New(r.options).Resume(t.Context(), r.graph(flow(compute("a", gives(1, nil)))), engine.ResumeOptions{RunID: runID})
	if !errors.Is(err, oslock.ErrHeld) {
		t.Errorf("another owner: %v", err)
	}
	close(freed)
	if result, _ := r.finish(run); !result.Parked {
		t.Errorf("result %+v", result)
	}
	mustBeFree(t, run.Dir())
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working := make(chan struct{})
	run := r.begin(timeoutRoute(compute("a", waits(working))))
	<-working
	run.Cancel()
	run.Cancel()
	run.Interrupt("too late")
	result, b := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "the run was cancelled")
	if got := kinds(b); got != "run_started node_started node_failed run_cancelled" || trail(b) != "a:cancelled" {
		t.Errorf("events %s, steps %s: a cancelled attempt is recorded and never routed", got, trail(b))
	}
}

func TestCancelOfUnsettledWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working, freed := make(chan struct{}), make(chan struct{})
	defer close(freed)
	run := r.begin(flow(compute("a", ignores(working, freed))))
	<-working
	run.Cancel()
	r.clock.await(t, engine.DefaultSettleGrace, 1)
	r.clock.Advance(engine.DefaultSettleGrace)
	result, _ := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "still works")
}

// An attempt that ended ok stays recorded; the run ends at the next border.
func TestCancelBetweenSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	started := make(chan *engine.Run, 1)
	var run *engine.Run
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		r.observe(e, v)
		if e.Type == runbundle.EventNodeFinished {
			run = <-started
			run.Cancel()
		}
	}
	begun := r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil))))
	started <- begun
	result, b := r.finish(begun)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "the run was cancelled")
	if got := kinds(b); got != "run_started node_started node_finished run_cancelled" {
		t.Errorf("events %s", got)
	}
}

func TestCancelAfterTheLastStepChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	started := make(chan *engine.Run, 1)
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		r.observe(e, v)
		if e.Type == runbundle.EventNodeFinished {
			(<-started).Cancel()
		}
	}
	run := r.begin(flow(compute("a", gives(1, nil))))
	started <- run
	result, _ := r.finish(run)
	r.want(result, runbundle.Completed, "", "")
	run.Cancel()
	run.Interrupt("later")
	if again := run.Wait(); again.Status != runbundle.Completed {
		t.Errorf("status %s", again.Status)
	}
}

// A cancellation that comes before the dispatch prevents it.
func TestCancelBeforeTheDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	started := make(chan *engine.Run, 1)
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		r.observe(e, v)
		if e.Type == runbundle.EventNodeStarted {
			(<-started).Cancel()
		}
	}
	run := r.begin(flow(workflow.Action{ID: "a", Run: func(context.Context, *workflow.Context) (any, error) {
		t.Error("dispatched")
		return nil, nil
	}}))
	started <- run
	result, b := r.finish(run)
	r.want(result, runbundle.Cancelled, engine.CodeCancelled, "")
	if got := trail(b); got != "a:cancelled" || b.State.Steps[0].Action != nil {
		t.Errorf("steps %s", got)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working := make(chan struct{})
	run := r.begin(flow(compute("a", gives(1, nil)), compute("b", waits(working))))
	<-working
	run.Interrupt("the host stops")
	run.Cancel()
	result, b := r.finish(run)
	r.want(result, runbundle.Failed, runbundle.CodeInterrupted, "the host stops")
	if !result.Interrupted {
		t.Error("not marked as interrupted")
	}
	if got := kinds(b); got != "run_started node_started node_finished node_started run_interrupted" || trail(b) != "a:ok" {
		t.Errorf("events %s, steps %s: the interrupted attempt has no end", got, trail(b))
	}
}

func TestInterruptOfUnsettledWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	working, freed := make(chan struct{}), make(chan struct{})
	defer close(freed)
	run := r.begin(flow(compute("a", ignores(working, freed))))
	<-working
	run.Interrupt("the host stops")
	r.clock.await(t, engine.DefaultSettleGrace, 1)
	r.clock.Advance(engine.DefaultSettleGrace)
	result, _ := r.finish(run)
	r.want(result, runbundle.Failed, runbundle.CodeInterrupted, "the host stops")
}

// The end of another run, returned by a callback, is an error like any other.
func TestStopOfAnotherRunIsNoStop(t *testing.T) {
	t.Parallel()
	inner, outer := newRig(t), newRig(t)
	result, _ := outer.run(flow(compute("a", func(context.Context, *workflow.Context) (any, error) {
		working := make(chan struct{})
		var seen error
		run := inner.begin(flow(compute("a", func(ctx context.Context, _ *workflow.Context) (any, error) {
			working <- struct{}{}
			<-ctx.Done()
			seen = context.Cause(ctx)
			return nil, seen
		})))
		<-working
		run.Cancel()
		run.Wait()
		return nil, seen
	})))
	outer.want(result, runbundle.Failed, "node_failed", "the run was cancelled")
}
