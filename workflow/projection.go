package workflow

import (
	"encoding/json"
	"slices"
	"sync"
)

// Root returns what the callbacks of the workflow see that was started.
func (s *Scopes) Root(c *Context) *Context { return s.seenFrom(0, c) }

// Context returns what the callbacks of a node see, of what the run knows.
//
// Spec: workflow engine, Composition, Context projection.
func (s *Scopes) Context(node string, c *Context) *Context {
	at := s.g.sites[node]
	seen := s.seenFrom(at.scope, c)
	if at.enters > 0 {
		seen.invocation = s.visits[at.enters].entered + 1
	}
	return seen
}

func (s *Scopes) seenFrom(i int, c *Context) *Context {
	seen := *c
	if len(s.g.scopes) == 1 {
		return &seen
	}
	v := &s.visits[i]
	if i > 0 {
		seen.Input = orNull(slices.Clone(v.input))
	}
	seen.View = scopedView{run: c.View, flat: s.g.flattening, scope: s.g.scopes[i], names: v.names, steps: slices.Clip(v.steps)}
	return &seen
}

// scopedView is the record as one scope sees it.
type scopedView struct {
	run   View
	flat  *flattening
	scope scope
	names *nameSet
	steps []int
}

func (v scopedView) Output(node string) (json.RawMessage, bool) {
	if !v.names.has(node) {
		return nil, false
	}
	return v.run.Output(v.scope.id(node))
}

func (v scopedView) Result(node string) (Result, bool) {
	if !v.names.has(node) {
		return Result{}, false
	}
	return v.run.Result(v.scope.id(node))
}

func (v scopedView) Steps() int { return len(v.steps) }

func (v scopedView) Step(i int) Step {
	step := v.run.Step(v.steps[i])
	step.NodeID = v.flat.seenAs(step.NodeID)
	return step
}

func (v scopedView) Updates() []Published { return v.run.Updates() }

// seenAs is the name of a step in the scope that sees it: an exit is its mount.
func (f *flattening) seenAs(id string) string {
	at := f.sites[id]
	if at.exit != "" {
		return f.scopes[at.scope].name()
	}
	return at.local
}

// nameSet holds the names of a scope that have a step since its latest entry. A
// context may be read while the next step is recorded.
type nameSet struct {
	mu   sync.RWMutex
	seen map[string]bool
}

func newNameSet() *nameSet { return &nameSet{seen: map[string]bool{}} }

func (n *nameSet) has(name string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.seen[name]
}

func (n *nameSet) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[name] = true
}

func (n *nameSet) drop(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.seen, name)
}
