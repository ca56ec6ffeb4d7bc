package runbundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/secret"
)

// Options are what every writer needs. The zero value of a field takes its
// default.
type Options struct {
	// FS is the file layer; the operating system's by default.
	FS *durable.FS
	// Clock tells how old a projection is; clock.System by default.
	Clock clock.Clock
	// Logger hears of projections that could not be written while the run goes
	// on; they are tried again, and nothing is lost. Nothing by default.
	Logger *slog.Logger
	// Fence reports whether the bundle is still ours. It is asked before each
	// sync; after an error nothing is written any more. Nil never objects.
	Fence func(ctx context.Context) error
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = durable.OS()
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Fence == nil {
		o.Fence = func(context.Context) error { return nil }
	}
	return o
}

// Init is what is known of a run before its first event.
type Init struct {
	// RunID names the run and its folder; see CheckRunID and NewRunID.
	RunID        string
	WorkflowName string
	// Title may be empty.
	Title string
	// Source is the JSON of where the definition comes from, Sources that of the
	// definitions that it includes; nil if unknown, or if there are none.
	Source, Sources json.RawMessage
	// Digest identifies the definition; it may be empty.
	Digest string
	// Snapshot is the definition as workflow.json keeps it, with the order of
	// its keys.
	Snapshot json.RawMessage
	// Input is the normalised run input; nil is null.
	Input     json.RawMessage
	StartedAt time.Time
	// Parent is the state of the waiting run that this one continues; nil for
	// every other run. Its outputs, results and steps are carried over.
	Parent *State
	// Insistence is told in the first event.
	Insistence Insistence
}

// Started returns the first event of the run.
func (i Init) Started() Draft {
	s := i.state()
	started := s.started()
	started.Insistence = i.Insistence
	return Draft{At: i.StartedAt, Payload: started}
}

// Started returns the first event of a run whose owner died before it. Nobody
// who has the state of a run with events needs it.
func (s *State) Started() Draft { return Draft{At: s.StartedAt.Time, Payload: s.started()} }

func (s *State) started() RunStarted {
	started := RunStarted{
		WorkflowName: s.WorkflowName, RunTitle: s.RunTitle, Input: s.Input,
		ContinuedFrom: s.ParentRunID, CarriedSteps: s.CarriedStepCount,
	}
	if carried := s.CarriedStepCount; carried > 0 && carried <= len(s.Steps) {
		started.Checkpoint = s.Steps[carried-1].NodeID // a run waits after its last step
	}
	return started
}

func (i Init) input() json.RawMessage {
	if i.Input == nil {
		return json.RawMessage("null")
	}
	return i.Input
}

func (i Init) state() State {
	started := At(i.StartedAt)
	s := State{
		Schema: stateSchema, RunID: i.RunID, WorkflowName: i.WorkflowName, RunTitle: secret.Redact(i.Title),
		WorkflowSource: i.Source, WorkflowSources: i.Sources, DefinitionDigest: i.Digest,
		StartedAt: started, UpdatedAt: started, Status: Running,
		Input: secret.RedactJSON(i.input()), Outputs: map[string]json.RawMessage{}, Results: map[string]Result{},
		Steps: []Step{}, Updates: []Update{},
	}
	if i.Parent != nil {
		s.carry(i.Parent)
	}
	return s
}

// carry takes over what a waiting run leaves to its continuation, without
// sharing anything that later events change.
func (s *State) carry(parent *State) {
	s.ParentRunID, s.CarriedStepCount = parent.RunID, len(parent.Steps)
	s.Outputs, s.Results, s.Steps = maps.Clone(parent.Outputs), maps.Clone(parent.Results), slices.Clip(parent.Steps)
}

// Create makes the bundle of a new run in a folder of bundles, which is made if
// it is missing, and becomes its owner. The manifest comes last, so that readers
// see the whole bundle or none; all of it is durable when Create returns. On an
// error nothing is left, and an existing folder of that run ID, which gives an
// *ExistsError, is not touched. Spec: run bundle format, Layout.
func Create(ctx context.Context, o Options, root string, i Init) (*Writer, error) {
	o = o.withDefaults()
	if err := CheckRunID(i.RunID); err != nil {
		return nil, err
	}
	if err := o.Fence(ctx); err != nil {
		return nil, fmt.Errorf("create the bundle of run %s: %w", i.RunID, err)
	}
	w := newWriter(o, filepath.Join(root, i.RunID), i.state())
	err := w.makeDir(root)
	if errors.Is(err, ErrExists) {
		return nil, err
	}
	if err == nil {
		err = w.fill(root, i.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("create the bundle of run %s: %w", i.RunID, err)
	}
	return w, nil
}

// makeDir makes the folder of the run. Only a folder of its own name is an
// *ExistsError: a file in the place of the runs folder is another trouble.
func (w *Writer) makeDir(root string) error {
	if err := w.o.FS.MkdirAll(root); err != nil {
		return fmt.Errorf("make the runs folder: %w", err)
	}
	err := w.o.FS.Mkdir(w.dir)
	if errors.Is(err, fs.ErrExist) {
		return &ExistsError{RunID: w.state.RunID, Dir: w.dir}
	}
	return err
}

// fill writes the first content of the folder that we made, or removes it.
func (w *Writer) fill(root string, snapshot json.RawMessage) (err error) {
	defer func() {
		if err != nil {
			err = w.discardAfter(err)
		}
	}()
	if w.lock, err = oslock.TryLockDir(w.dir); err != nil {
		return fmt.Errorf("become the owner: %w", err)
	}
	p := &projection{w: w, founding: true}
	return p.done(p.found(root, snapshot))
}

// found writes the definition, the empty trace and the first projections, and
// makes it all last. The manifest is put in its place when all else lasts.
func (p *projection) found(root string, snapshot json.RawMessage) error {
	w := p.w
	text, err := documentText(snapshot)
	if err != nil {
		return fmt.Errorf("%s: %w", workflowFile, err)
	}
	if err := p.add(workflowFile, whole(text)); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := p.write(); err != nil {
		return err
	}
	if err := w.o.FS.Sync(p.syncers(durable.Dir(root), durable.Dir(w.dir))...); err != nil {
		return err
	}
	return p.place()
}

// discardAfter removes the bundle because of an error, which stays the error.
func (w *Writer) discardAfter(err error) error {
	if left := w.Discard(); left != nil {
		return fmt.Errorf("%w (what was written is left: %v)", err, left) //nolint:errorlint // the first error counts
	}
	return err
}

// Discard removes a bundle that must not be: nobody has been told of the run.
func (w *Writer) Discard() error {
	err := w.release(false)
	if removeErr := w.o.FS.RemoveAll(w.dir); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the unfinished bundle: %w", removeErr))
	}
	return err
}
