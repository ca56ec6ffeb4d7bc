package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/workflow"
)

// Place is where definitions come from. What is in the project hides what is
// global, and that hides what is in the program, by kind and name.
type Place string

// The places of definitions, from the one that hides the others.
const (
	PlaceProject Place = "project"
	PlaceGlobal  Place = "global"
	PlaceBuiltIn Place = "built-in"
)

// rank orders places; unknown ones are last.
func (p Place) rank() int {
	places := []Place{PlaceProject, PlaceGlobal, PlaceBuiltIn}
	if i := slices.Index(places, p); i >= 0 {
		return i
	}
	return len(places)
}

// DefinitionSource gives the definitions of one place. It is safe for concurrent
// use.
type DefinitionSource interface {
	// Place is where they are.
	Place() Place
	// Load returns what is there now. A definition that cannot be had is among them,
	// with what is known of it and why; an error says that the place itself cannot
	// be read. What was found must not change afterwards.
	Load(ctx context.Context) ([]FoundDefinition, error)
	// Changed returns nil once Load may find something else than it did last, at
	// once if that is so already. It is an error only once ctx has ended, or if
	// changes will never be noticed again.
	Changed(ctx context.Context) error
}

// FoundDefinition is one definition of a place.
type FoundDefinition struct {
	Kind controller.DefinitionKind
	Name string
	// Source names it in its place: a file, or the kind of code that it is.
	Source string
	// Digest tells it from what it was before. That of a workflow is the digest of
	// its graph if it is empty.
	Digest string
	// One of these is set, by Kind, unless Err says why it cannot be.
	Controller *controller.Definition
	Workflow   *workflow.Definition
	Err        error
}

// goSource is the source of what is compiled into the program.
const goSource = "go"

// builtIn are the definitions of the program.
type builtIn struct{ Definitions }

// BuiltIn makes a source of the definitions of a program. They never change.
func (d Definitions) BuiltIn() DefinitionSource { return builtIn{d} }

// Place implements DefinitionSource.
func (builtIn) Place() Place { return PlaceBuiltIn }

// Load implements DefinitionSource.
func (b builtIn) Load(context.Context) ([]FoundDefinition, error) {
	var list []FoundDefinition
	for i, d := range b.Controllers {
		f := FoundDefinition{Kind: controller.KindController, Source: goSource, Controller: d}
		if d == nil {
			f.Err = fmt.Errorf("controller %d of the program is nil: leave it out", i)
		} else {
			f.Name = d.Name
			f.Digest, f.Err = goDigest(d)
		}
		list = append(list, f)
	}
	for i, d := range b.Workflows {
		f := FoundDefinition{Kind: controller.KindWorkflow, Source: goSource, Workflow: d}
		if d == nil {
			f.Err = fmt.Errorf("workflow %d of the program is nil: leave it out", i)
		} else {
			f.Name = d.Name
		}
		list = append(list, f)
	}
	return list, nil
}

// Changed implements DefinitionSource.
func (builtIn) Changed(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// goDigest tells a controller in Go from an earlier one as far as its author does:
// code has no digest.
func goDigest(d *controller.Definition) (string, error) {
	text, err := canonical.Marshal(map[string]string{"kind": goSource, "name": d.Name, "revision": d.Revision})
	if err != nil {
		return "", fmt.Errorf("controller %.80q: %w", d.Name, err)
	}
	return canonical.Sum(text), nil
}

// checked is a definition with what was found out about it.
type checked struct {
	FoundDefinition
	place Place
	graph *workflow.Graph
}

// check finds out whether a definition can be used.
func check(f FoundDefinition, place Place) checked {
	c := checked{FoundDefinition: f, place: place}
	switch {
	case f.Err != nil:
	case f.Kind == controller.KindController && f.Controller != nil:
		_, c.Err = controller.NewRegistry(f.Controller)
	case f.Kind == controller.KindWorkflow && f.Workflow != nil:
		if c.graph, c.Err = workflow.Compile(f.Workflow); c.Err == nil {
			c.Digest = cmp.Or(f.Digest, c.graph.Digest())
		}
	default:
		c.Err = errors.New("it is neither a controller nor a workflow")
	}
	return c
}

// byPlace orders definitions of one name: the one that counts is the first.
func byPlace(a, b checked) int {
	return cmp.Or(cmp.Compare(a.place.rank(), b.place.rank()), strings.Compare(a.Source, b.Source))
}
