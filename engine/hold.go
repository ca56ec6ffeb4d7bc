package engine

import (
	"sync"

	"piworkflows/runbundle"
)

// gate is shut while a run is paused. The zero gate is open.
type gate struct {
	mu sync.Mutex
	// opened is closed when the gate opens; nil while it is open.
	opened chan struct{}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// wait returns what is closed when the gate opens, or nil if it is open.
func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// hold keeps a paused run at the border of a step until it may go on, or is
// told to end: then there is nothing to resume. Spec: workflow engine, Pause.
func (r *Run) hold() error {
	opened := r.gate.wait()
	if opened == nil {
		return nil
	}
	if err := r.append(runbundle.Draft{At: r.e.o.Clock.Now(), Payload: runbundle.RunPaused{}}); err != nil {
		return err
	}
	for ; opened != nil; opened = r.gate.wait() {
		select {
		case <-opened:
		case <-r.ctx.Done():
			return nil
		}
	}
	if r.ctx.Err() != nil {
		return nil //nolint:nilerr // the border sees it next
	}
	return r.append(runbundle.Draft{At: r.e.o.Clock.Now(), Payload: runbundle.RunResumed{}})
}
