package host

import (
	"iter"
	"slices"

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

// Catalog is Definitions after every check: names are unique and each graph is
// compiled.
type Catalog struct {
	Controllers *controller.Registry
	controllers []*controller.Definition
	graphs      map[string]*workflow.Graph
}

// Compile checks every definition and returns all problems at once.
func (d Definitions) Compile() (*Catalog, error) {
	c := &Catalog{controllers: d.Controllers, graphs: map[string]*workflow.Graph{}}
	var problems []error
	var err error
	if c.Controllers, err = controller.NewRegistry(d.Controllers...); err != nil {
		problems = append(problems, err)
	}
	for _, def := range d.Workflows {
		g, err := workflow.Compile(def)
		switch {
		case err != nil:
			problems = append(problems, err)
		case c.graphs[g.Name()] != nil:
			problems = append(problems, &DuplicateWorkflowError{Name: g.Name()})
		default:
			c.graphs[g.Name()] = g
		}
	}
	return c, joinErrors(problems)
}

// Workflow returns the compiled graph of a workflow, or a
// *controller.UnknownWorkflowError.
func (c *Catalog) Workflow(name string) (*workflow.Graph, error) {
	if g, ok := c.graphs[name]; ok {
		return g, nil
	}
	return nil, &controller.UnknownWorkflowError{Name: name, Known: c.WorkflowNames()}
}

// WorkflowNames returns the names of all workflows in order.
func (c *Catalog) WorkflowNames() []string {
	names := make([]string, 0, len(c.graphs))
	for name := range c.graphs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Sources returns the sources of all controllers, those of one in the order of
// its definition.
func (c *Catalog) Sources() []controller.SourceInfo {
	var list []controller.SourceInfo
	for info := range c.sources() {
		list = append(list, info)
	}
	return list
}

func (c *Catalog) sources() iter.Seq2[controller.SourceInfo, controller.Source] {
	return func(yield func(controller.SourceInfo, controller.Source) bool) {
		for _, name := range c.Controllers.Names() {
			def, err := c.Controllers.Get(name)
			if err != nil {
				continue // it was named by the registry itself
			}
			for _, s := range def.Sources {
				if !yield(controller.SourceInfo{Controller: name, Source: s.Name()}, s) {
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
