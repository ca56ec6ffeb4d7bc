package webhook

import (
	"context"
	"sync"

	"piworkflows/controller"
)

// gate lets requests in while the source is run. The zero gate is closed.
type gate struct {
	mu   sync.Mutex
	life *life
}

// life is one run of a source.
type life struct {
	ctx    context.Context
	in     controller.Intake
	places chan struct{}
	inside sync.WaitGroup
}

// open opens a closed gate and reports whether it was closed.
func (g *gate) open(ctx context.Context, in controller.Intake, places int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life != nil {
		return false
	}
	g.life = &life{ctx: ctx, in: in, places: make(chan struct{}, places)}
	return true
}

// close lets nobody in any more and waits for those who are inside.
func (g *gate) close() {
	g.mu.Lock()
	l := g.life
	g.life = nil
	g.mu.Unlock()
	l.inside.Wait()
}

// enter returns the life that a request is part of until it calls leave; nil if
// the gate is closed.
func (g *gate) enter() *life {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life != nil {
		g.life.inside.Add(1)
	}
	return g.life
}

func (l *life) leave() { l.inside.Done() }

// place takes one of the places, if one is free. Those who have one give it back.
func (l *life) place() bool {
	select {
	case l.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *life) free() { <-l.places }
