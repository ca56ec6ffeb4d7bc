package view

import (
	"fmt"
	"slices"
	"time"

	"piworkflows/runbundle"
)

// StepError says that a run has no such step.
type StepError struct {
	RunID string
	// Step was asked for, Steps are there.
	Step, Steps int
}

func (e *StepError) Error() string {
	return fmt.Sprintf("run %s has no step %d: it has %d, counted from one", Plain(e.RunID), e.Step, e.Steps)
}

// ErrorCode is the stable code of the error.
func (*StepError) ErrorCode() string { return "step_not_found" }

// Replay is a recorded run that can be looked at as it was after each of its
// steps. It never changes and may be used by several goroutines.
type Replay struct {
	bundle *runbundle.Bundle
	graph  *composed
	tracks []Track
	// standing is how the run stands if its record does not tell.
	standing runbundle.Status
}

// NewReplay prepares a run. The bundle must not change any more. A graph that
// cannot be drawn is a *SnapshotError.
func NewReplay(b *runbundle.Bundle) (*Replay, error) {
	g, err := ReadGraph(b.Workflow)
	if err != nil {
		return nil, err
	}
	return &Replay{bundle: b, graph: compose(g), tracks: tracksOf(b.Events)}, nil
}

// With is the same run after more of it was recorded.
func (r *Replay) With(b *runbundle.Bundle) *Replay {
	return &Replay{bundle: b, graph: r.graph, tracks: tracksOf(b.Events)}
}

// Standing is the same run with a status that its record cannot tell, because
// nobody is there to write it: interrupted or parked, for example. It holds until
// more is recorded; empty is none.
func (r *Replay) Standing(status runbundle.Status) *Replay {
	s := *r
	s.standing = status
	return &s
}

// RunID is the ID of the run.
func (r *Replay) RunID() string { return r.bundle.State.RunID }

// Steps is the number of steps that have ended.
func (r *Replay) Steps() int { return len(r.bundle.State.Steps) }

// Ended reports whether nothing more will be recorded.
func (r *Replay) Ended() bool { return r.bundle.State.Status.Terminal() }

// At returns the run as it was after a step, counted from one; zero is how it is
// now. A step that does not exist is a *StepError.
func (r *Replay) At(step int) (*Moment, error) {
	s := &r.bundle.State
	if step < 0 || step > len(s.Steps) {
		return nil, &StepError{s.RunID, step, len(s.Steps)}
	}
	m := &Moment{Replay: r, step: step, steps: s.Steps, tracks: r.tracks}
	next := s.CurrentNode
	if step > 0 {
		m.steps = s.Steps[:step]
		m.tracks = tracksOf(until(r.bundle.Events, m.steps[step-1].AttemptID))
		if step < len(s.Steps) {
			next = s.Steps[step].NodeID
		}
	}
	m.way = newWay(r.graph, m.steps, next)
	m.place()
	m.since = m.way.decisions()
	return m, nil
}

// place finds where the run is at the moment.
func (m *Moment) place() {
	name, at := m.bundle.State.CurrentNode, &m.way.active
	if m.step > 0 {
		name, at = m.steps[m.step-1].NodeID, &m.way.here
	}
	if n, ok := m.graph.index[name]; ok {
		*at = n
	}
}

// Moment is a run after one of its steps, or as it is now.
type Moment struct {
	*Replay
	// step is zero for now.
	step  int
	steps []runbundle.Step
	// tracks are what was told of the progress until then.
	tracks []Track
	way    *way
	since  map[int]decision
}

// Node is the ID of the node that the moment is about: the one at work, else
// that of the latest step; empty if there is none.
func (m *Moment) Node() string {
	if n := m.way.position(); n >= 0 {
		return m.graph.Nodes[n].ID
	}
	return ""
}

// Shown is the number of steps that had ended.
func (m *Moment) Shown() int { return len(m.steps) }

// Graph returns the drawing of the run's graph with the way that it took.
func (m *Moment) Graph(o DrawOptions) []Line {
	s := &sheet{DrawOptions: o, whole: m.graph, way: m.way, since: m.since}
	return s.draw()
}

// Legend explains the signs of Graph, in lines that fit.
func (r *Replay) Legend(s Style) []string { return legend(s, runSigns, len(r.graph.Groups) > 0) }

// took is how long the run has been going on.
func (m *Moment) took(now time.Time) time.Duration {
	s := &m.bundle.State
	end := s.FinishedAt.Time
	switch {
	case end.IsZero() && m.standing != "":
		end = s.UpdatedAt.Time
	case end.IsZero():
		end = now
	}
	return end.Sub(s.StartedAt.Time)
}

// LastStep is the latest step of a node, counted from one; zero if it had none.
func (m *Moment) LastStep(node string) int {
	for i, s := range slices.Backward(m.steps) {
		if s.NodeID == node {
			return i + 1
		}
	}
	return 0
}

// Around returns the paths of the groups that a node lies in, the innermost
// first.
func (r *Replay) Around(node string) []string {
	n, ok := r.graph.index[node]
	if !ok {
		return nil
	}
	var paths []string
	for s := r.graph.within[n]; s != root; s = r.graph.around[s] {
		paths = append(paths, r.graph.scopes[s].path)
	}
	return paths
}

// Grouped reports whether the graph includes other workflows.
func (r *Replay) Grouped() bool { return len(r.graph.Groups) > 0 }
