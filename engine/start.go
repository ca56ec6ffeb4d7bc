package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"piworkflows/internal/limit"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// maxTitle bounds the title of a run, in characters: it is one line of a list.
const maxTitle = 1024

// Start checks the input, makes the bundle and starts the run, which goes on
// after Start returns. Canceling ctx ends Start from its first moment on, also
// while the callbacks for input and title run, but not the run that came of it:
// Run.Cancel does. The values of ctx reach the callbacks. On an error nothing is left on disk: an *InputError for input
// that the workflow refuses, a *limit.Error, a *runbundle.IDError or
// *runbundle.ExistsError for the run ID, the error of Reserve, a *RecordError
// with that of the file layer or of the fence.
func (e *Engine) Start(ctx context.Context, g *workflow.Graph, o StartOptions) (*Run, error) {
	r, err := e.newRun(ctx, g, o)
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		r.cancel(nil)
		return nil, err
	}
	return r.launch(ctx, runbundle.Init{}, place{next: g.StartAt()})
}

// launch makes the bundle of a new run and lets it go. What init says besides
// the definition and the input is kept.
func (r *Run) launch(ctx context.Context, init runbundle.Init, at place) (_ *Run, err error) {
	defer func() {
		if err != nil {
			r.cancel(nil)
		}
	}()
	if r.o.Reserve != nil {
		if err := r.o.Reserve(ctx, bytes.Clone(r.input)); err != nil {
			return nil, fmt.Errorf("reserve run %s: %w", r.o.RunID, err)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	started, err := r.create(ctx, init)
	if err != nil {
		return nil, err
	}
	go r.drive([]runbundle.Event{started}, at)
	return r, nil
}

// Check returns the error with which Start would refuse a run of this input, and
// writes nothing. The callbacks for input and title are called.
func (e *Engine) Check(ctx context.Context, g *workflow.Graph, input json.RawMessage) error {
	r, err := e.newRun(ctx, g, StartOptions{Input: input})
	if err != nil {
		return err
	}
	defer r.cancel(nil)
	return r.prepare(ctx)
}

// newRun returns a run of which nothing is known but its options.
func (e *Engine) newRun(ctx context.Context, g *workflow.Graph, o StartOptions) (*Run, error) {
	if g == nil || e.o.RunsDir == "" {
		return nil, errors.New("start a run: a compiled graph and Options.RunsDir are required")
	}
	if o.RunID == "" {
		o.RunID = runbundle.NewRunID(g.Name(), e.o.Clock.Now(), e.o.NewID())
	}
	if err := runbundle.CheckRunID(o.RunID); err != nil {
		return nil, err
	}
	r := &Run{e: e, o: o, graph: g, base: context.WithoutCancel(ctx), sent: map[string]int{}, done: make(chan struct{})}
	r.scopes = g.Follow(e.o.MaxSteps)
	r.ctx, r.cancel = context.WithCancelCause(r.base)
	return r, nil
}

// prepare asks the definition for all that can refuse a new run.
func (r *Run) prepare(ctx context.Context) (err error) {
	def := r.graph.Definition()
	if r.input, err = r.e.normalise(ctx, def, r.o.Input); err != nil {
		return err
	}
	r.title, err = r.e.title(ctx, def, r.input)
	return err
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
	return limit.Text(strings.Join(strings.Fields(title), " "), maxTitle), nil
}

// create makes the bundle with its first event, or leaves nothing.
func (r *Run) create(ctx context.Context, i runbundle.Init) (runbundle.Event, error) {
	id, err := identityOf(r.graph)
	if err != nil {
		return runbundle.Event{}, err
	}
	i.RunID, i.WorkflowName, i.Title, i.Input, i.StartedAt = r.o.RunID, r.graph.Name(), r.title, r.input, r.e.o.Clock.Now()
	i.Source, i.Sources, i.Digest, i.Snapshot = id.source, id.sources, id.digest, r.graph.Snapshot()
	if r.w, err = runbundle.Create(ctx, r.recording(), r.e.o.RunsDir, i); errors.Is(err, runbundle.ErrExists) {
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

// recording is how the bundle of the run is written.
func (r *Run) recording() runbundle.Options {
	return runbundle.Options{FS: r.e.o.FS, Clock: r.e.o.Clock, Logger: r.e.o.Logger, Fence: r.fence}
}
