package controller_test

import (
	"context"
	"sync"

	"piworkflows/controller"
)

// untilIdle runs a manager until it has nothing to do.
func untilIdle(ctx context.Context, s idleStore, manager func(*idling) *controller.Manager) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return manager(&idling{idleStore: s, stop: stop}).Run(ctx)
}

// idleStore is what a manager asks of its store.
type idleStore interface {
	controller.Store
	controller.FinishClaimer
}

// idling is the store and the observer of a manager that is stopped once it waits
// and runs no pass.
type idling struct {
	idleStore
	stop func()

	mu      sync.Mutex
	passes  int
	waiting bool
}

func (i *idling) WaitDue(ctx context.Context, controllers []string) error {
	i.change(func() { i.waiting = true })
	defer i.change(func() { i.waiting = false })
	return i.idleStore.WaitDue(ctx, controllers)
}

func (i *idling) Observe(r controller.Record) {
	switch r.(type) {
	case controller.PassStarted:
		i.change(func() { i.passes++ })
	case controller.PassEnded:
		i.change(func() { i.passes-- })
	}
}

func (i *idling) change(what func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	what()
	if i.waiting && i.passes == 0 {
		i.stop()
	}
}
