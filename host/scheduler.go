package host

import (
	"context"

	"github.com/google/uuid"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/runbundle"
)

// scheduler is what the controller runtime knows of workflow runs: it pins
// definitions and names runs. Runs start from their queue rows.
type scheduler struct {
	catalog *Catalog
	clock   clock.Clock
}

var _ controller.Scheduler = scheduler{}

func (s scheduler) Resolve(_ context.Context, name string) (controller.WorkflowIdentity, error) {
	g, err := s.catalog.Workflow(name)
	if err != nil {
		return controller.WorkflowIdentity{}, err
	}
	return identity(g)
}

func (s scheduler) NewRunID(workflow string) string {
	return runbundle.NewRunID(workflow, s.clock.Now(), uuid.NewString())
}
