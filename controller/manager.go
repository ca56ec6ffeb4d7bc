package controller

import "context"

// Manager reconciles the resources of its definitions: it claims keys that are
// due, runs their passes within the worker limits, and writes what came of
// them. Several managers, in one process or many, may share a store.
//
// Spec: Sources and workers.
type Manager struct {
	o           ManagerOptions
	definitions *Registry
}

// NewManager checks the options; the error joins every problem.
func NewManager(o ManagerOptions) (*Manager, error) {
	panic("not yet")
}

// Run reconciles until ctx ends, then stops: passes are cancelled with the
// cause ErrStopped and their keys released, which counts as no error of theirs.
// It returns nil once all have ended, or after ManagerOptions.StopGrace a
// *StopError with the number that went on. Errors of the store never end Run;
// they are logged and tried again. One Run at a time: another is ErrRunning.
func (m *Manager) Run(ctx context.Context) error { panic("not yet") }

// RunOnce runs one pass that is due and returns once it has ended: false if
// nothing is due or the limits leave no room. The error is one of the store;
// what a reconciler returned is in the key's queue row. Safe beside Run.
func (m *Manager) RunOnce(ctx context.Context) (bool, error) { panic("not yet") }

// Stats counts the passes of a manager now.
type Stats struct {
	// Running counts passes that hold a worker.
	Running int
	// Abandoned counts, by controller, reconcilers that went on after their
	// deadline or after a stop. They occupy the limit of their controller.
	Abandoned map[string]int
}

// Stats returns the counts of this moment.
func (m *Manager) Stats() Stats { panic("not yet") }
