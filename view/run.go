package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piworkflows/runbundle"
)

// RunOptions say how a run is drawn.
type RunOptions struct {
	Style
	// Step shows the run as it was after that step, counted from one, with the
	// step in full; zero shows all of it.
	Step int
	// Now is the present time, for a run that goes on.
	Now time.Time
}

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

// Run returns a recorded run as text: what became of it, its graph with the way
// that it took, and its steps. A step that does not exist is a *StepError.
func Run(b *runbundle.Bundle, o RunOptions) (string, error) {
	steps := b.State.Steps
	if o.Step < 0 || o.Step > len(steps) {
		return "", &StepError{b.State.RunID, o.Step, len(steps)}
	}
	r := recorded{RunOptions: o, state: &b.State, interrupted: b.Interrupted(), steps: steps}
	if o.Step > 0 {
		r.steps = steps[:o.Step]
	}
	g, err := ReadGraph(b.Workflow)
	if err != nil {
		return "", err
	}
	parts := []string{r.head(g), r.graph(g), r.table()}
	if foot := r.foot(); foot != "" {
		parts = append(parts, foot)
	}
	return strings.Join(parts, "\n"), nil
}

// recorded is one run while it is drawn.
type recorded struct {
	RunOptions
	state       *runbundle.State
	interrupted bool
	// steps are those that are shown.
	steps []runbundle.Step
}

func (r *recorded) head(g *Graph) string {
	s := r.state
	facts := []string{
		Plain(s.WorkflowName), Status(s.Status, r.interrupted, r.Palette), r.progress(),
		"took " + Duration(r.took()), "started " + s.StartedAt.UTC().Format(time.DateTime) + "Z",
	}
	lines := []string{r.Palette.Bold(Plain(s.RunID)), strings.Join(facts, " · ")}
	if s.RunTitle != "" {
		lines = append(lines, Plain(s.RunTitle))
	}
	if s.CurrentNode != "" && r.Step == 0 {
		lines = append(lines, strings.TrimSpace("at work   "+Plain(s.CurrentNode)+"  "+Plain(s.StatusDetail)))
	}
	if d := r.decision(newWiring(g)); d != "" {
		lines = append(lines, d)
	}
	return r.lines(lines)
}

// progress counts the steps, and tells how many of them are shown.
func (r *recorded) progress() string {
	steps := len(r.state.Steps)
	switch {
	case r.Step > 0:
		return fmt.Sprintf("step %d of %d", r.Step, steps)
	case steps == 1:
		return "1 step"
	default:
		return fmt.Sprintf("%d steps", steps)
	}
}

func (r *recorded) took() time.Duration {
	end := r.state.FinishedAt.Time
	if end.IsZero() {
		end = r.Now
	}
	return end.Sub(r.state.StartedAt.Time)
}

// decision tells the latest choice by an output among the steps shown. A switch
// on an outcome is an operational branch and no decision.
func (r *recorded) decision(w *wiring) string {
	for i, s := range slices.Backward(r.steps) {
		n, ok := w.index[s.NodeID]
		if !ok {
			continue
		}
		if e := w.edgeTaken(n, r.follower(i), s); e >= 0 && w.Edges[e].chosen() {
			return "decision  " + Plain(s.NodeID) + " → " + Plain(w.Edges[e].Label) + reason(s.Output)
		}
	}
	return ""
}

// reason is what a decision says about itself, if it does.
func reason(output json.RawMessage) string {
	var o struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(output, &o) != nil || o.Reason == "" {
		return ""
	}
	return ": " + Plain(o.Reason)
}

// follower names the node that a step led to; empty if nothing followed.
func (r *recorded) follower(i int) string {
	if i+1 < len(r.state.Steps) {
		return r.state.Steps[i+1].NodeID
	}
	return r.state.CurrentNode
}

func (r *recorded) graph(g *Graph) string {
	w := newWiring(g)
	t := newTrail(w, r.steps, r.follower(len(r.steps)-1))
	name, place := r.state.CurrentNode, &t.active
	if r.Step > 0 {
		name, place = r.steps[r.Step-1].NodeID, &t.here
	}
	if n, ok := w.index[name]; ok {
		*place = n
	}
	d := newDrawing(g, t, r.Style)
	d.body()
	d.legend()
	return d.text.String()
}

// foot shows the result of the run, or the chosen step in full.
func (r *recorded) foot() string {
	if r.Step > 0 {
		return r.detail(r.steps[r.Step-1])
	}
	s := r.state
	var lines []string
	if s.WaitingOn != "" {
		lines = append(lines, "waits at  "+Plain(s.WaitingOn))
	}
	if s.Error != "" {
		lines = append(lines, r.Palette.Bad("error")+"  "+Plain(s.Error))
	}
	if len(s.FinalOutput) > 0 {
		lines = append(lines, "output "+Plain(compact(s.FinalOutput)))
	}
	return r.lines(lines)
}

func (r *recorded) lines(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(r.fit(l, r.width()), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Status writes how a run stands, in its colour.
func Status(s runbundle.Status, interrupted bool, p Palette) string {
	text := words(string(s))
	switch {
	case s == runbundle.Completed:
		return p.Good(text)
	case !s.Terminal() || s == runbundle.Waiting:
		return p.Warm(text)
	case interrupted:
		return p.Bad("interrupted")
	default:
		return p.Bad(cmp.Or(text, "unknown"))
	}
}
