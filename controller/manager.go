package controller

import (
	"context"
	"sync"
	"sync/atomic"
)

// Manager reconciles the resources of its definitions: it claims keys that are
// due, runs their passes within the worker limits, and writes what came of
// them. Several managers, in one process or many, may share a store. Its
// methods are safe for concurrent use.
//
// Spec: Sources and workers.
type Manager struct {
	o           ManagerOptions
	definitions *Registry
	slots       *slots
	pace        *pace
	running     atomic.Bool
	// passes are the workers of Run; abandoned reconcilers do not belong to them.
	passes sync.WaitGroup
}

// NewManager checks the options; the error joins every problem.
func NewManager(o ManagerOptions) (*Manager, error) {
	o = o.withDefaults()
	definitions, problems := NewRegistry(o.Definitions...)
	if problems == nil {
		problems = o.check(definitions)
	}
	if problems != nil {
		return nil, problems
	}
	return &Manager{o: o, definitions: definitions, slots: newSlots(o.Workers, o.limits(definitions)), pace: newPace()}, nil
}

// SetDefinitions replaces the definitions. A pass that is under way ends with the
// one that it began with; the next pass of its key has the new one. Keys of a
// controller that is gone are left alone. The error is that of NewRegistry, and
// then nothing changed.
func (m *Manager) SetDefinitions(defs ...*Definition) error {
	if err := m.definitions.Replace(defs...); err != nil {
		return err
	}
	m.slots.resize(m.o.limits(m.definitions))
	return nil
}

// Run reconciles until ctx ends, then stops: passes are cancelled with the
// cause ErrStopped and their keys released, which counts as no error of theirs.
// It returns nil once all have ended, or after ManagerOptions.StopGrace a
// *StopError with the number that went on. Errors of the store never end Run;
// they are logged and tried again. One Run at a time: another is ErrRunning.
func (m *Manager) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer m.running.Store(false)
	stop, cancel := stopping(ctx)
	defer cancel()
	m.dispatch(stop)
	return m.drain()
}

// RunOnce runs one pass that is due and returns once it has ended: false if
// nothing is due or the limits leave no room. If ctx ends, the pass is stopped
// as by Run. The error is one of the store; what a reconciler returned is in
// the key's queue row. Safe beside Run.
func (m *Manager) RunOnce(ctx context.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	names, _ := m.slots.reserve()
	if len(names) == 0 {
		return false, nil
	}
	claim, err := m.claim(ctx, names)
	if claim == nil {
		return false, err
	}
	stop, cancel := stopping(ctx)
	defer cancel()
	_, err = m.newPass(claim).run(stop, nil)
	return true, err
}

// Stats counts the passes of a manager.
type Stats struct {
	// Running counts workers that run a pass or look for one.
	Running int
	// Abandoned counts, by controller, reconcilers that went on after their
	// deadline, the loss of their claim, or a stop. They occupy the limit of
	// their controller until they return.
	Abandoned map[string]int
}

// Stats returns the counts of this moment.
func (m *Manager) Stats() Stats {
	s, _ := m.slots.stats()
	return s
}

// drain waits for the passes, each of which ends within the grace, and until
// the same moment for reconcilers that were abandoned before.
func (m *Manager) drain() error {
	grace := m.o.Clock.NewTimer(m.o.StopGrace)
	defer grace.Stop()
	m.passes.Wait()
	for {
		s, freed := m.slots.stats()
		if len(s.Abandoned) == 0 {
			return nil
		}
		select {
		case <-grace.C():
			return newStopError(s)
		case <-freed.Done():
		}
	}
}

func newStopError(s Stats) error {
	e := &StopError{}
	for _, n := range s.Abandoned {
		e.Abandoned += n
	}
	return e
}
