package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/internal/limit"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func TestStartRefusesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	input := func(out json.RawMessage, err error) func(r *rig, d *workflow.Definition) {
		return func(_ *rig, d *workflow.Definition) {
			d.Input = func(context.Context, json.RawMessage) (json.RawMessage, error) { return out, err }
		}
	}
	given := func(text string) func(r *rig, d *workflow.Definition) {
		return func(r *rig, _ *workflow.Definition) { r.start.Input = raw(text) }
	}
	as := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isInput := func(err error) bool { var e *engine.InputError; return errors.As(err, &e) }
	isLimit := func(err error) bool { var e *limit.Error; return errors.As(err, &e) }
	tests := []struct {
		name    string
		arrange func(r *rig, d *workflow.Definition)
		is      func(error) bool
		message string
	}{
		{"run ID", func(r *rig, _ *workflow.Definition) { r.start.RunID = "../x" }, func(err error) bool { var e *runbundle.IDError; return errors.As(err, &e) }, "no run ID"},
		{"runs folder", func(r *rig, _ *workflow.Definition) { r.options.RunsDir = "" }, func(error) bool { return true }, "RunsDir"},
		{"input no JSON", given(`{"a":`), isInput, "workflow greet refuses the input"},
		{"input with a large integer", given(`{"a":9007199254740993}`), isInput, "/a"},
		{"input too large", given(`"` + strings.Repeat("x", 1<<20) + `"`), isLimit, "run input is 1048578 bytes"},
		{"input function", input(nil, refused), isInput, "refused"},
		{"input function breaks JSON", input(raw("nope"), nil), isInput, "run input"},
		{"input function too large", input(raw(`"`+strings.Repeat("x", 1<<20)+`"`), nil), isLimit, "over the limit"},
		{"input function panics", func(_ *rig, d *workflow.Definition) {
			d.Input = func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("ouch") }
		}, isInput, "panicked: ouch"},
		{"title", func(_ *rig, d *workflow.Definition) {
			d.Title = func(context.Context, json.RawMessage) (string, error) { return "", refused }
		}, as(refused), "title"},
		{"reserve", func(r *rig, _ *workflow.Definition) {
			r.start.Reserve = func(context.Context, json.RawMessage) error { return refused }
		}, as(refused), "reserve run"},
		{"fence", func(r *rig, _ *workflow.Definition) {
			r.start.Fence = func(context.Context) error { return &lease.LostError{What: runID} }
		}, as(lease.ErrLost), "create the bundle"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start.Observe = func(runbundle.Event, workflow.View) { t.Error("an event was told") }
			d := flow(compute("a", gives(1, nil)))
			folder := r.options.RunsDir
			test.arrange(r, d)
			run, err := engine.New(r.options).Start(t.Context(), r.graph(d), r.start)
			if run != nil || !test.is(err) || !strings.Contains(err.Error(), test.message) {
				t.Fatalf("Start = %v, %v", run, err)
			}
			if left, err := os.ReadDir(folder); len(left) != 0 || (err != nil && !errors.Is(err, os.ErrNotExist)) {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func (r *rig) graph(d *workflow.Definition) *workflow.Graph {
	r.t.Helper()
	g, err := workflow.Compile(d)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

func TestStartNeedsAGraph(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if run, err := engine.New(r.options).Start(t.Context(), nil, r.start); run != nil || err == nil {
		t.Fatalf("Start = %v, %v", run, err)
	}
}

func TestStartOfAnExistingRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(compute("a", gives(1, nil)))
	_, before := r.run(d)
	_, err := engine.New(r.options).Start(t.Context(), r.graph(d), r.start)
	wantErr[*runbundle.ExistsError](t, err)
	if after, err := runbundle.Read(before.Dir); err != nil || len(after.Events) != len(before.Events) {
		t.Errorf("the existing bundle changed: %v", err)
	}
}

func TestStartIsBounded(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return raw("1"), nil
	}
	for what, set := range map[string]func(d *workflow.Definition){
		"input": func(d *workflow.Definition) { d.Input = waits },
		"title": func(d *workflow.Definition) {
			d.Title = func(ctx context.Context, input json.RawMessage) (string, error) {
				_, err := waits(ctx, input)
				return "late", err
			}
		},
	} {
		t.Run("by time in "+what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			d := flow(compute("a", gives(1, nil)))
			set(d)
			failed := make(chan error)
			go func() {
				_, err := engine.New(r.options).Start(t.Context(), r.graph(d), r.start)
				failed <- err
			}()
			r.clock.await(t, engine.CallbackTimeout, 1)
			r.clock.Advance(engine.CallbackTimeout)
			timeout := wantErr[*engine.TimeoutError](t, <-failed)
			if timeout.What != "the "+what+" function of workflow greet" {
				t.Error(timeout)
			}
			if left, err := os.ReadDir(r.options.RunsDir); len(left) != 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
	gone := errors.New("nobody wants it any more")
	for name, ask := range map[string]func(r *rig, d *workflow.Definition, cancel func()){
		"input": func(_ *rig, d *workflow.Definition, cancel func()) {
			d.Input = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
				cancel()
				return waits(ctx, input)
			}
		},
		"title": func(_ *rig, d *workflow.Definition, cancel func()) {
			d.Title = func(context.Context, json.RawMessage) (string, error) {
				cancel()
				return "late", nil
			}
		},
		"reserve": func(r *rig, _ *workflow.Definition, cancel func()) {
			r.start.Reserve = func(context.Context, json.RawMessage) error {
				cancel()
				return nil
			}
		},
	} {
		t.Run("by its context in "+name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			d := flow(compute("a", gives(1, nil)))
			ask(r, d, func() { cancel(gone) })
			if _, err := engine.New(r.options).Start(ctx, r.graph(d), r.start); !errors.Is(err, gone) {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(r.options.RunsDir); len(left) != 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestStartOnABrokenDisk(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		r := newRig(t)
		n, starting := 0, true
		r.options.FS = durable.WithHook(func(op durable.Op, _ string) error {
			n++
			if starting && n == at {
				return errFull
			}
			return nil
		})
		run, err := engine.New(r.options).Start(t.Context(), r.graph(flow(compute("a", gives(1, nil)))), r.start)
		if err == nil {
			run.Wait()
			if at < 15 {
				t.Fatalf("no error at operation %d", at)
			}
			return
		}
		if !durable.IsDiskFull(err) {
			t.Fatalf("operation %d: %v", at, err)
		}
		if left, err := os.ReadDir(r.options.RunsDir); len(left) != 0 || (err != nil && !errors.Is(err, os.ErrNotExist)) {
			t.Fatalf("operation %d left %v, %v", at, left, err)
		}
		starting = false
	}
}

func TestStartNormalisesTheInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start.Input = raw(` {"b" : 2, "a":1} `)
	var reserved string
	r.start.Reserve = func(_ context.Context, input json.RawMessage) error {
		reserved = string(input)
		if _, err := os.Lstat(r.options.RunsDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something was written before: %v", err)
		}
		return nil
	}
	d := flow(compute("a", func(_ context.Context, c *workflow.Context) (any, error) { return c.Input, nil }))
	d.Input = func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
		if string(input) != `{"b":2,"a":1}` {
			t.Errorf("input %s", input)
		}
		return raw(`{"normal" : true}`), nil
	}
	d.Title = func(_ context.Context, input json.RawMessage) (string, error) {
		return "  Title\n of " + string(input), nil
	}
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	want := `{"normal":true}`
	if string(b.State.Input) != want || reserved != want || string(result.FinalOutput) != want {
		t.Errorf("recorded %s, reserved %s, seen %s", b.State.Input, reserved, result.FinalOutput)
	}
	if b.State.RunTitle != "Title of "+want || b.Manifest.RunTitle != b.State.RunTitle {
		t.Errorf("title %q", b.State.RunTitle)
	}
	if b.State.DefinitionDigest != r.graph(d).Digest() || string(b.State.WorkflowSource) == "" {
		t.Errorf("digest %s, source %s", b.State.DefinitionDigest, b.State.WorkflowSource)
	}
}

func TestStartMakesARunID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start.RunID = ""
	r.options.NewID = nil
	run := r.begin(flow(compute("a", gives(1, nil))))
	if !strings.HasPrefix(run.ID(), "20270105T081500Z-greet-") || runbundle.CheckRunID(run.ID()) != nil {
		t.Errorf("run ID %s", run.ID())
	}
	run.Wait()
}

// The context of Start carries values to the callbacks, and its end does not
// end the run.
func TestRunOutlivesTheContextOfStart(t *testing.T) {
	t.Parallel()
	type key struct{}
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	free := make(chan struct{})
	d := flow(compute("a", func(ctx context.Context, _ *workflow.Context) (any, error) {
		<-free
		return ctx.Value(key{}), ctx.Err()
	}))
	run, err := engine.New(r.options).Start(ctx, r.graph(d), r.start)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	close(free)
	result, _ := r.finish(run)
	r.want(result, runbundle.Completed, "", "")
	if string(result.FinalOutput) != `"value"` {
		t.Errorf("output %s", result.FinalOutput)
	}
}
