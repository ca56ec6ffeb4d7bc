package view

import (
	"strings"
	"time"

	"piworkflows/runbundle"
)

// RunOptions say how a run is drawn.
type RunOptions struct {
	DrawOptions
	// Step shows the run as it was after that step, counted from one, with the
	// step in full; zero shows all of it.
	Step int
	// Standing is how the run stands if its record cannot tell; see
	// Replay.Standing.
	Standing runbundle.Status
	// Now is the present time, for a run that goes on.
	Now time.Time
}

// Run returns a recorded run as text: what became of it, its graph with the way
// that it took, and its steps. A step that does not exist is a *StepError, a
// graph that cannot be drawn a *SnapshotError.
func Run(b *runbundle.Bundle, o RunOptions) (string, error) {
	r, err := NewReplay(b)
	if err != nil {
		return "", err
	}
	m, err := r.Standing(o.Standing).At(o.Step)
	if err != nil {
		return "", err
	}
	parts := []string{
		strings.Join(m.Head(o.Style, o.Now), "\n") + "\n", joined(m.Graph(o.DrawOptions)),
		strings.Join(r.Legend(o.Style), "\n") + "\n", m.StepTable(0, m.Shown(), o.Style),
	}
	if foot := m.foot(o.Style); foot != "" {
		parts = append(parts, foot)
	}
	return strings.Join(parts, "\n"), nil
}

// foot shows the chosen step in full, or the result of the run.
func (m *Moment) foot(s Style) string {
	if m.step > 0 {
		return m.Detail(m.step, detailLines, s)
	}
	return m.Result(s)
}

// Result tells how the run ended: what it waits at, its error, its output.
// It is empty for one that goes on.
func (m *Moment) Result(s Style) string {
	state := &m.bundle.State
	var b strings.Builder
	for _, l := range [][2]string{
		{"waits at  ", state.WaitingOn}, {s.Palette.Bad("error") + "  ", state.Error}, {"output ", compact(state.FinalOutput)},
	} {
		if l[1] != "" {
			b.WriteString(s.fit(l[0]+Plain(l[1]), s.width()) + "\n")
		}
	}
	return b.String()
}
