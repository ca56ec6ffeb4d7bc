package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"piworkflows/internal/canonical"
)

// Option changes a definition that Define makes.
type Option func(*Definition)

// WithTimeout sets the deadline of one pass; the default is DefaultTimeout.
func WithTimeout(d time.Duration) Option { return func(def *Definition) { def.Timeout = d } }

// WithResync runs settled resources again after so long; the default is never.
func WithResync(d time.Duration) Option { return func(def *Definition) { def.Resync = d } }

// WithCompletedTTL deletes resources that have been completed for so long; the
// default is never.
func WithCompletedTTL(d time.Duration) Option {
	return func(def *Definition) { def.CompletedTTL = d }
}

// WithChildRunsPerHour bounds the attempts of child runs that start in an hour; the
// default is DefaultChildRunsPerHour.
func WithChildRunsPerHour(n int) Option {
	return func(def *Definition) { def.ChildRunsPerHour = n }
}

// WithAgentAttemptsPerHour bounds the attempts of agent nodes in child runs; the
// default is DefaultAgentAttemptsPerHour.
func WithAgentAttemptsPerHour(n int) Option {
	return func(def *Definition) { def.AgentAttemptsPerHour = n }
}

// WithConcurrency bounds the passes of the controller at once; the default is
// the manager's global limit.
func WithConcurrency(n int) Option { return func(def *Definition) { def.Concurrency = n } }

// WithSources adds sources that deliver keys from outside.
func WithSources(s ...Source) Option {
	return func(def *Definition) { def.Sources = append(def.Sources, s...) }
}

// Define makes a definition from a reconciler in the author's own types. S is
// the spec and T the controller status, both as encoding/json sees them.
//
// Specs are decoded strictly before they are stored: unknown fields and values
// that do not fit are a *SpecError with JSON pointers; a SpecValidator adds its
// own rules. What is stored already is decoded leniently, so that a field that
// a newer S no longer has does not block its resource. The first status is the
// zero T unless the reconciler is a StatusInitializer.
//
// Mistakes in name or options are reported by NewRegistry and NewManager.
func Define[S, T any](name string, r Reconciler[S, T], opts ...Option) *Definition {
	t := typed[S, T]{name, r}
	d := &Definition{Name: name, ValidateSpec: t.validateSpec, InitialStatus: t.initialStatus, Reconcile: t.reconcile}
	for _, o := range opts {
		o(d)
	}
	return d
}

// typed adapts a reconciler to JSON text.
type typed[S, T any] struct {
	name       string
	reconciler Reconciler[S, T]
}

func (t typed[S, T]) validateSpec(raw json.RawMessage) error {
	var spec S
	if err := canonical.DecodeStrict(raw, &spec); err != nil {
		return newSpecError(t.name, err)
	}
	v, ok := t.reconciler.(SpecValidator[S])
	if !ok {
		return nil
	}
	if problems := v.ValidateSpec(spec); len(problems) > 0 {
		return &SpecError{Controller: t.name, Problems: problems}
	}
	return nil
}

func (t typed[S, T]) initialStatus(raw json.RawMessage) (json.RawMessage, error) {
	var status T
	if i, ok := t.reconciler.(StatusInitializer[S, T]); ok {
		var spec S
		if err := json.Unmarshal(raw, &spec); err != nil {
			return nil, fmt.Errorf("spec: %w", err)
		}
		status = i.InitialStatus(spec)
	}
	// A pointer, so that a nil json.RawMessage is null as everywhere.
	return canonical.Marshal(&status)
}

func (t typed[S, T]) reconcile(ctx context.Context, p *Pass, raw Raw) (RawResult, error) {
	r, err := decode[S, T](raw)
	if err != nil {
		return RawResult{}, err
	}
	result, err := t.reconciler.Reconcile(ctx, p, r)
	if err != nil {
		return RawResult{}, err
	}
	return encode(result)
}

// decode reads a stored resource into the author's types.
func decode[S, T any](raw Raw) (Resource[S, T], error) {
	r := Resource[S, T]{Metadata: raw.Metadata, Status: Status[T]{
		ObservedGeneration: raw.Status.ObservedGeneration,
		Conditions:         raw.Status.Conditions,
		WorkflowRun:        raw.Status.WorkflowRun,
	}}
	if err := json.Unmarshal(raw.Spec, &r.Spec); err != nil {
		return r, fmt.Errorf("the stored spec does not fit %T: apply one that does: %w", r.Spec, err)
	}
	if err := json.Unmarshal(raw.Status.ControllerStatus, &r.Status.ControllerStatus); err != nil {
		return r, fmt.Errorf("the stored controller status does not fit %T: let the type read what it wrote before: %w",
			r.Status.ControllerStatus, err)
	}
	return r, nil
}

// encode writes a result of the author's types as JSON text.
func encode[T any](r Result[T]) (RawResult, error) {
	raw := RawResult{Kind: r.Kind, After: r.After, Patch: Patch[json.RawMessage]{
		Conditions: r.Patch.Conditions,
		Finalizers: r.Patch.Finalizers,
	}}
	if r.Patch.ControllerStatus == nil {
		return raw, nil
	}
	status, err := canonical.Marshal(r.Patch.ControllerStatus)
	if err != nil {
		return RawResult{}, fmt.Errorf("controller status: %w", err)
	}
	raw.Patch.ControllerStatus = &status
	return raw, nil
}
