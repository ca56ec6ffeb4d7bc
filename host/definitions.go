package host

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/runqueue"
	"piworkflows/workflow"
)

// Definitions is what a program offers: the controllers that the host runs and
// the workflows that controllers and people may start.
type Definitions struct {
	Controllers []*controller.Definition
	Workflows   []*workflow.Definition
}

// Catalog is what was found in some places, after every check: names are unique
// and each graph is compiled. While a host runs it follows its sources. It is safe
// for concurrent use.
type Catalog struct {
	// Controllers are those that can be used now.
	Controllers *controller.Registry
	now         atomic.Pointer[snapshot]

	sources []DefinitionSource
	mu      sync.Mutex // of what follows
	// found is what each source gave last.
	found [][]checked
	// changed is closed, and replaced, when the catalog holds something else.
	changed chan struct{}
}

// Compile checks every definition and returns all problems at once.
func (d Definitions) Compile() (*Catalog, error) {
	c := Load(context.Background(), d.BuiltIn()) // it reads nothing that could take long
	if problems := c.Problems(); len(problems) > 0 {
		return nil, joinErrors(problems)
	}
	return c, nil
}

// Load takes what can be used of some places: a definition that cannot disables no
// other one, and is among the Problems.
func Load(ctx context.Context, sources ...DefinitionSource) *Catalog {
	registry, _ := controller.NewRegistry() // of nothing
	c := &Catalog{
		Controllers: registry, sources: sources, found: make([][]checked, len(sources)), changed: make(chan struct{}),
	}
	c.reload(ctx)
	return c
}

// reload reads all sources anew. A place that cannot be read keeps what it had.
func (c *Catalog) reload(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unread []error
	for i, source := range c.sources {
		list, err := source.Load(ctx)
		if err != nil {
			unread = append(unread, fmt.Errorf("the definitions of the place %s cannot be read: %w", source.Place(), err))
			continue
		}
		c.found[i] = nil
		for _, f := range list {
			c.found[i] = append(c.found[i], check(f, source.Place()))
		}
	}
	s := merge(slices.Concat(c.found...))
	s.unread = unread
	if err := c.Controllers.Replace(s.controllers...); err != nil {
		s.unread = append(s.unread, err) // it cannot be: each was checked, and no name is there twice
	}
	c.now.Store(s)
	close(c.changed)
	c.changed = make(chan struct{})
}

// next returns a channel that is closed once the catalog holds something else.
func (c *Catalog) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Entries lists every definition that was found, in the order of kind, name and
// place.
func (c *Catalog) Entries() []DefinitionEntry { return slices.Clone(c.now.Load().entries) }

// Problems says what cannot be used, and why; empty if all can.
func (c *Catalog) Problems() []error { return c.now.Load().problems() }

// definitions are the controllers that can be used now.
func (c *Catalog) definitions() []*controller.Definition { return c.now.Load().controllers }

// Workflow returns the compiled graph of a workflow, what is wrong with it if it is
// broken, or a *controller.UnknownWorkflowError.
func (c *Catalog) Workflow(name string) (*workflow.Graph, error) {
	s := c.now.Load()
	if g, ok := s.graphs[name]; ok {
		return g, nil
	}
	if err := s.broken[name]; err != nil {
		return nil, err
	}
	return nil, &controller.UnknownWorkflowError{Name: name, Known: c.WorkflowNames()}
}

// WorkflowNames returns the names of all workflows in order.
func (c *Catalog) WorkflowNames() []string {
	graphs := c.now.Load().graphs
	names := make([]string, 0, len(graphs))
	for name := range graphs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Sources returns the sources of all controllers, those of one in the order of
// its definition.
func (c *Catalog) Sources() []controller.SourceInfo {
	var list []controller.SourceInfo
	for info := range c.outside() {
		list = append(list, info)
	}
	return list
}

// outside are the sources of all controllers.
func (c *Catalog) outside() iter.Seq2[controller.SourceInfo, controller.Source] {
	return func(yield func(controller.SourceInfo, controller.Source) bool) {
		for _, def := range c.definitions() {
			for _, s := range def.Sources {
				if !yield(controller.SourceInfo{Controller: def.Name, Source: s.Name()}, s) {
					return
				}
			}
		}
	}
}

// pins reports whether a row was reserved with this very definition.
func pins(id controller.WorkflowIdentity, row runqueue.Row) bool {
	same, err := canonical.Equal(id.Source, row.Source)
	return err == nil && same && id.Digest == row.Digest
}

// identity pins a graph in a run row.
func identity(g *workflow.Graph) (controller.WorkflowIdentity, error) {
	source, err := canonical.Marshal(g.Source())
	if err != nil {
		return controller.WorkflowIdentity{}, err
	}
	return controller.WorkflowIdentity{Source: source, Digest: g.Digest()}, nil
}
