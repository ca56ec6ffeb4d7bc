package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Scopes follows one run through the workflows that it includes: which of them
// were entered with what, what belongs to each since then, and how many attempts
// they have left. Whoever runs the graph tells it each finished step, in order,
// those of an earlier part of the run too.
//
// What it remembers of a step is its place in the history, so that a question
// costs the same however long the run is. One goroutine uses it; the contexts that
// it made are safe for concurrent use, also while that goroutine goes on.
type Scopes struct {
	g *Graph
	// most bounds the attempts of the whole run.
	most   int
	visits []visit
}

// visit is what a scope has since its latest entry.
type visit struct {
	// entered counts the entries in the whole run.
	entered int
	// spent counts the attempts, those of scopes within included.
	spent int
	input json.RawMessage
	// steps are the places of those that the scope sees.
	steps []int
	names *nameSet
}

// Follow returns the scopes of a run that begins. Most bounds the attempts of a
// definition without MaxSteps; zero takes DefaultMaxSteps.
func (g *Graph) Follow(most int) *Scopes {
	if g.def.MaxSteps > 0 || most == 0 {
		most = g.MaxSteps()
	}
	s := &Scopes{g: g, most: most, visits: make([]visit, len(g.scopes))}
	for i := range s.visits {
		s.visits[i].names = newNameSet()
	}
	return s
}

// Record takes the step with that index in the history. A step of a node that the
// graph does not have counts as an attempt of the run.
func (s *Scopes) Record(index int, step Step) {
	at, known := s.g.sites[step.NodeID]
	switch ok := step.Outcome == OK; {
	case !known:
		s.visits[0].spent++
	case at.enters > 0:
		s.visits[at.scope].names.drop(at.local)
		if ok {
			s.enter(at.enters, step.Output)
		}
	case at.exit != "":
		child := s.g.scopes[at.scope]
		if ok {
			s.see(child.parent, index, child.name())
		}
	default:
		for i := at.scope; i >= 0; i = s.g.scopes[i].parent {
			s.visits[i].spent++
		}
		s.see(at.scope, index, at.local)
	}
}

// enter begins a visit with nothing.
func (s *Scopes) enter(i int, output json.RawMessage) {
	var e entry
	_ = json.Unmarshal(output, &e) // it is ours, and without an input the child decides
	s.visits[i] = visit{entered: s.visits[i].entered + 1, input: orNull(e.Input), names: newNameSet()}
}

// see adds a step to what a scope sees. A graph of one scope sees the history as
// it is.
func (s *Scopes) see(i, index int, name string) {
	if len(s.g.scopes) == 1 {
		return
	}
	v := &s.visits[i]
	v.steps = append(v.steps, index)
	v.names.add(name)
}

// StepLimitError says that a run used up its attempts, or those of a workflow
// that it includes, before it came to an end.
type StepLimitError struct {
	// Workflow is the one with the limit, Mount its path joined by slashes; empty
	// for that of the run.
	Workflow, Mount string
	Max             int
}

func (e *StepLimitError) Error() string {
	of := ""
	if e.Mount != "" {
		of = " since it was entered as " + e.Mount
	}
	return fmt.Sprintf("workflow %s exceeded maxSteps %d%s: raise MaxSteps, or find the loop that makes no progress", e.Workflow, e.Max, of)
}

// ErrorCode is the stable code of the error.
func (*StepLimitError) ErrorCode() string { return "max_steps" }

// Allow returns a *StepLimitError if one more attempt of a node is over the limit
// of the run or of a workflow around it, the outermost first. What enters and
// leaves a mount is no attempt.
func (s *Scopes) Allow(node string) error {
	at := s.g.sites[node]
	if at.crosses() {
		return nil
	}
	if s.visits[0].spent >= s.most {
		return &StepLimitError{Workflow: s.g.def.Name, Max: s.most}
	}
	var around []int
	for i := at.scope; i > 0; i = s.g.scopes[i].parent {
		around = append(around, i)
	}
	for _, i := range slices.Backward(around) {
		if child := s.g.scopes[i]; child.def.MaxSteps > 0 && s.visits[i].spent >= child.def.MaxSteps {
			return &StepLimitError{Workflow: child.def.Name, Mount: child.mountID(), Max: child.def.MaxSteps}
		}
	}
	return nil
}

// Crossing is a step that entered a mount or left it.
type Crossing struct {
	// MountPath names the mounts on the way from the root.
	MountPath    []string
	WorkflowName string
	// Invocation counts the entries of the mount in the run from one.
	Invocation int
	// Exit is the exit by which it was left; empty says that it was entered.
	Exit string
}

// Crossing tells whether a node enters or leaves a mount. It is asked after an ok
// step of the node was recorded.
func (s *Scopes) Crossing(node string) (Crossing, bool) {
	at := s.g.sites[node]
	if !at.crosses() {
		return Crossing{}, false
	}
	i := at.scope
	if at.enters > 0 {
		i = at.enters
	}
	child := s.g.scopes[i]
	return Crossing{
		MountPath: slices.Clone(child.path), WorkflowName: child.def.Name, Invocation: s.visits[i].entered, Exit: at.exit,
	}, true
}

// Cleanup is the cleanup of one workflow, see Definition.Cleanup.
type Cleanup struct {
	// Workflow is its name.
	Workflow string
	Run      func(ctx context.Context) error
}

// Cleanups returns what removes what the run leaves, of the included workflows
// that were entered first and of the innermost before the others. c is what the
// run knows at its end.
func (s *Scopes) Cleanups(c *Context) []Cleanup {
	var list []Cleanup
	for i, sc := range slices.Backward(s.g.scopes) {
		if sc.def.Cleanup == nil || i > 0 && s.visits[i].entered == 0 {
			continue
		}
		seen := s.seenFrom(i, c)
		list = append(list, Cleanup{Workflow: sc.def.Name, Run: func(ctx context.Context) error { return sc.def.Cleanup(ctx, seen) }})
	}
	return list
}
