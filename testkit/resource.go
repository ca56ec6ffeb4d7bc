package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

// maxEvents bounds the events that are read of one resource.
const maxEvents = 10_000

// Resource is a resource of the controller that a Kit runs; it need not exist.
type Resource struct {
	kit *Kit
	ref controller.Ref
}

// Resource names a resource by its key.
func (k *Kit) Resource(key string) *Resource {
	return &Resource{k, controller.Ref{Controller: k.definition.Name, Key: key}}
}

// Apply creates a resource, or changes its spec, as somebody does from outside.
// The spec is anything that encodes as JSON.
func (k *Kit) Apply(key string, spec any) *Resource {
	k.t.Helper()
	r := k.Resource(key)
	if err := r.TryApply(spec); err != nil {
		k.t.Fatalf("apply %s: %v", r.ref, err)
	}
	return r
}

// Apply changes the spec.
func (r *Resource) Apply(spec any) {
	r.kit.t.Helper()
	r.kit.Apply(r.ref.Key, spec)
}

// TryApply is Apply for a spec that may be refused.
func (r *Resource) TryApply(spec any) error {
	raw, err := canonical.Marshal(spec)
	if err != nil {
		return err
	}
	_, err = controller.PutSpec(r.kit.t.Context(), r.kit.store, r.kit.definition, controller.Put{Ref: r.ref, Spec: raw, Actor: actor})
	return err
}

// Wake asks for a pass, as a source or a person does.
func (r *Resource) Wake() {
	r.kit.t.Helper()
	if _, err := r.kit.store.Enqueue(r.kit.t.Context(), r.ref, actor); err != nil {
		r.kit.t.Fatalf("wake %s: %v", r.ref, err)
	}
}

// Delete asks for the resource to be deleted.
func (r *Resource) Delete() {
	r.kit.t.Helper()
	if _, err := r.kit.store.RequestDeletion(r.kit.t.Context(), controller.Deletion{Ref: r.ref, Actor: actor}); err != nil {
		r.kit.t.Fatalf("delete %s: %v", r.ref, err)
	}
}

// Get reads the resource, which must exist.
func (r *Resource) Get() controller.Raw {
	r.kit.t.Helper()
	return must(r, "read", r.kit.store.Get)
}

// Gone reports whether there is no such resource.
func (r *Resource) Gone() bool {
	r.kit.t.Helper()
	_, err := r.kit.store.Get(r.kit.t.Context(), r.ref)
	if err != nil && !errors.Is(err, controller.ErrNotFound) {
		r.kit.t.Fatalf("read %s: %v", r.ref, err)
	}
	return err != nil
}

// Status decodes the controller status of a resource.
func Status[S any](r *Resource) (status S) {
	r.kit.t.Helper()
	if err := json.Unmarshal(r.Get().Status.ControllerStatus, &status); err != nil {
		r.kit.t.Fatalf("status of %s: %v", r.ref, err)
	}
	return status
}

// Ready is the readiness that people see.
func (r *Resource) Ready() controller.Readiness {
	r.kit.t.Helper()
	return controller.ReadinessOf(r.Get())
}

// Effects returns the effects, oldest first.
func (r *Resource) Effects() []controller.EffectRecord {
	r.kit.t.Helper()
	return must(r, "read the effects of", r.kit.store.Effects)
}

// Children returns the requests of child runs, oldest first.
func (r *Resource) Children() []controller.ChildRun {
	r.kit.t.Helper()
	return must(r, "read the child runs of", r.kit.store.Children)
}

// Queue returns the queue row.
func (r *Resource) Queue() controller.QueueRow {
	r.kit.t.Helper()
	return must(r, "read the queue row of", r.kit.store.Queue)
}

// Events returns the events of some types, all if none is named, oldest first.
func (r *Resource) Events(types ...controller.EventType) (found []controller.Event) {
	r.kit.t.Helper()
	events, err := r.kit.store.Events(r.kit.t.Context(), controller.EventQuery{
		Controller: r.ref.Controller, Key: r.ref.Key, Limit: maxEvents,
	})
	if err != nil {
		r.kit.t.Fatalf("read the events of %s: %v", r.ref, err)
	}
	for _, e := range events {
		if len(types) == 0 || slices.Contains(types, e.Type) {
			found = append(found, e)
		}
	}
	return found
}

// Explain is what the command explain says of the resource.
func (r *Resource) Explain() controller.Explanation {
	r.kit.t.Helper()
	frozen, err := r.kit.store.Frozen(r.kit.t.Context())
	if err != nil {
		r.kit.t.Fatalf("explain %s: %v", r.ref, err)
	}
	return controller.Explain(controller.Situation{
		Resource: r.Get(), Queue: r.Queue(), Effects: r.Effects(), Children: r.Children(),
		Loaded: true, HostRuns: true, Frozen: frozen, Now: r.kit.Clock.Now(),
	})
}

// must reads something of a resource.
func must[V any](r *Resource, what string, read func(context.Context, controller.Ref) (V, error)) V {
	r.kit.t.Helper()
	v, err := read(r.kit.t.Context(), r.ref)
	if err != nil {
		r.kit.t.Fatalf("%s %s: %v", what, r.ref, err)
	}
	return v
}
