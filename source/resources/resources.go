// Package resources is a source that follows the resources of another controller:
// what changes there wakes keys here. It reads the change feed of the store, so
// nothing polls.
//
//	resources.New("repositories", resources.Options{Controller: "repository", Keys: resources.SameKey})
//
// docs/sources.md describes it.
//
// Spec: Sources and workers. Design: One way to follow.
package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"piworkflows/controller"
)

// Options say what is followed, and whom it wakes. Both are required.
type Options struct {
	// Controller is the name of the other controller. A controller cannot follow
	// itself: every pass of it would be a reason for the next.
	Controller string
	// Keys maps a change to the keys to wake; none passes it over. After an error
	// the source starts again, and asks for the same change.
	Keys Mapper
}

// Change is a resource that changed: its spec, its status, its deletion.
type Change struct {
	controller.Ref
	// Resource is the resource as it is now; nil if it is gone. A change that was
	// followed by another may be seen once, with what came of both.
	Resource *controller.Raw
	// Follower is the name of the controller whose keys are asked for, and Resources
	// reads the resources of the project.
	Follower  string
	Resources controller.ResourceReader
}

// Mapper returns the keys of a change.
type Mapper func(ctx context.Context, c Change) ([]string, error)

// SameKey is a Mapper to the resource with the same key.
func SameKey(_ context.Context, c Change) ([]string, error) { return []string{c.Key}, nil }

// Ready passes over a resource that is not ready, for its generation, and one that
// is gone.
func Ready(next Mapper) Mapper {
	return func(ctx context.Context, c Change) ([]string, error) {
		if c.Resource == nil || controller.ReadinessOf(*c.Resource).Status != controller.True {
			return nil, nil
		}
		return next(ctx, c)
	}
}

// Referring maps to the resources whose spec refers to what changed, as refers
// says. It reads all resources of its controller for each change: write a Mapper
// of your own where they are many.
func Referring[S any](refers func(spec S, changed controller.Ref) bool) Mapper {
	return func(ctx context.Context, c Change) ([]string, error) {
		var keys []string
		err := each(ctx, c.Resources, c.Follower, func(r controller.Raw) error {
			var spec S
			if err := json.Unmarshal(r.Spec, &spec); err != nil {
				return fmt.Errorf("read the spec of %s: %w", r.Metadata.Ref(), err)
			}
			if refers(spec, c.Ref) {
				keys = append(keys, r.Metadata.Key)
			}
			return nil
		})
		return keys, err
	}
}

// each reads all resources of a controller.
func each(ctx context.Context, reader controller.ResourceReader, name string, f func(controller.Raw) error) error {
	const page = 1000
	q := controller.ListQuery{Controller: name, Limit: page}
	for {
		found, err := reader.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list the resources of %s: %w", name, err)
		}
		for _, item := range found.Items {
			if err := f(item.Resource); err != nil {
				return err
			}
		}
		if q.Continue = found.Continue; q.Continue == "" {
			return nil
		}
	}
}

// Source is a controller.Source. Make one with New.
type Source struct {
	name    string
	options Options
}

// New makes a source. What is wrong with the options is found by Check, which
// controller.NewRegistry calls.
func New(name string, o Options) *Source { return &Source{name: name, options: o} }

// Name implements controller.Source.
func (s *Source) Name() string { return s.name }

// Check implements controller.SourceChecker.
func (s *Source) Check(owner string) error {
	var problems []error
	if err := controller.ValidateController(s.options.Controller); err != nil {
		problems = append(problems, err)
	}
	if s.options.Controller == owner {
		problems = append(problems, fmt.Errorf("%s would follow itself, and every pass would wake the next: "+
			"a change of its spec wakes a resource anyway, and RequeueAfter asks for another pass", owner))
	}
	if s.options.Keys == nil {
		problems = append(problems, errors.New("no Keys: give resources.SameKey, resources.Referring or a function"))
	}
	return errors.Join(problems...)
}
