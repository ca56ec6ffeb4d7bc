package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// maxTitle bounds the title of a run, in bytes: it is one line of a list.
const maxTitle = 1024

// Start checks the input, makes the bundle and starts the run, which goes on
// after Start returns. Canceling ctx ends Start, not the run; its values reach
// the callbacks. On an error nothing is left on disk: an *InputError for input
// that the workflow refuses, a *limit.Error, a *runbundle.IDError or
// *runbundle.ExistsError for the run ID, the error of Reserve, a *RecordError
// with that of the file layer or of the fence.
func (e *Engine) Start(ctx context.Context, g *workflow.Graph, o StartOptions) (*Run, error) {
	r, err := e.prepare(ctx, g, o)
	if err != nil {
		return nil, err
	}
	if o.Reserve != nil {
		if err := o.Reserve(ctx, bytes.Clone(r.input)); err != nil {
			return nil, fmt.Errorf("reserve run %s: %w", r.o.RunID, err)
		}
	}
	started, err := r.create(ctx)
	if err != nil {
		return nil, err
	}
	go r.drive(started)
	return r, nil
}

// Check returns the error with which Start would refuse a run of this input, and
// writes nothing. The callbacks for input and title are called.
func (e *Engine) Check(ctx context.Context, g *workflow.Graph, input json.RawMessage) error {
	r, err := e.prepare(ctx, g, StartOptions{Input: input})
	if err == nil {
		r.cancel(nil)
	}
	return err
}

// prepare does everything that can refuse a run, and writes nothing.
func (e *Engine) prepare(ctx context.Context, g *workflow.Graph, o StartOptions) (*Run, error) {
	if g == nil || e.o.RunsDir == "" {
		return nil, errors.New("start a run: a compiled graph and Options.RunsDir are required")
	}
	r := &Run{e: e, o: o, graph: g, base: context.WithoutCancel(ctx), sent: map[string]int{}, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(r.base)
	if r.o.RunID == "" {
		r.o.RunID = runbundle.NewRunID(g.Name(), e.o.Clock.Now(), e.o.NewID())
	}
	if err := runbundle.CheckRunID(r.o.RunID); err != nil {
		return nil, err
	}
	def := g.Definition()
	var err error
	if r.input, err = e.normalise(ctx, def, o.Input); err != nil {
		return nil, err
	}
	if r.title, err = e.title(ctx, def, r.input); err != nil {
		return nil, err
	}
	return r, nil
}

// normalise returns the input as the workflow takes it.
func (e *Engine) normalise(ctx context.Context, def *workflow.Definition, raw json.RawMessage) (json.RawMessage, error) {
	input, err := checked("run input", raw)
	if err == nil && def.Input != nil {
		input, err = bounded(ctx, e, "the input function of workflow "+def.Name, func(ctx context.Context) (json.RawMessage, error) {
			normalised, err := def.Input(ctx, bytes.Clone(input))
			if err != nil {
				return nil, err
			}
			return checked("run input", normalised)
		})
	}
	switch over := (*limit.Error)(nil); {
	case err == nil || errors.As(err, &over):
		return input, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, &InputError{Workflow: def.Name, Err: err}
	}
}

// title returns the one line that the author gives the run, if any.
func (e *Engine) title(ctx context.Context, def *workflow.Definition, input json.RawMessage) (string, error) {
	if def.Title == nil {
		return "", nil
	}
	title, err := bounded(ctx, e, "the title function of workflow "+def.Name, func(ctx context.Context) (string, error) {
		return def.Title(ctx, bytes.Clone(input))
	})
	if err != nil {
		return "", fmt.Errorf("title of a run of workflow %s: %w", def.Name, err)
	}
	return shorten(strings.Join(strings.Fields(title), " "), maxTitle), nil
}

// create makes the bundle with its first event, or leaves nothing.
func (r *Run) create(ctx context.Context) (runbundle.Event, error) {
	source, err := canonical.Marshal(r.graph.Source())
	if err != nil {
		return runbundle.Event{}, fmt.Errorf("source of workflow %s: %w", r.graph.Name(), err)
	}
	options := runbundle.Options{FS: r.e.o.FS, Clock: r.e.o.Clock, Logger: r.e.o.Logger, Fence: r.fence}
	i := runbundle.Init{
		RunID: r.o.RunID, WorkflowName: r.graph.Name(), Title: r.title, Source: source, Digest: r.graph.Digest(),
		Snapshot: r.graph.Snapshot(), Input: r.input, StartedAt: r.e.o.Clock.Now(),
	}
	if r.w, err = runbundle.Create(ctx, options, r.e.o.RunsDir, i); errors.Is(err, runbundle.ErrExists) {
		return runbundle.Event{}, err
	}
	if err != nil {
		return runbundle.Event{}, &RecordError{RunID: r.o.RunID, Err: err}
	}
	started, err := r.w.Append(ctx, i.Started())
	if err == nil {
		return started, nil
	}
	if left := r.w.Discard(); left != nil {
		r.e.o.Logger.ErrorContext(ctx, "the bundle of a run that did not start is left", "runId", r.o.RunID, "error", left)
	}
	return started, &RecordError{RunID: r.o.RunID, Err: err}
}
