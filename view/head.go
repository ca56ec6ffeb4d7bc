package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"piworkflows/runbundle"
)

// startLayout is when a run started; the seconds are in -o json.
const startLayout = "2006-01-02 15:04Z"

// Head returns what became of the run as lines, the more important ones first:
// its ID and title, its status, what is at work, the latest decision of each
// workflow that it is in, how far the work says it is. Now is the present time,
// for a run that goes on.
func (m *Moment) Head(s Style, now time.Time) []string {
	state := &m.bundle.State
	facts := []string{
		Plain(state.WorkflowName), Status(cmp.Or(m.standing, state.Status), m.bundle.Interrupted(), s.Palette), m.progress(),
		m.lasting(now), "at " + state.StartedAt.UTC().Format(startLayout),
	}
	if state.Paused && m.standing == "" {
		facts[1] = s.Palette.Warm("paused")
	}
	name := s.Palette.Bold(Plain(state.RunID)) + gap + Plain(state.RunTitle)
	lines := append([]string{name}, s.joined(facts...)...)
	if m.AtWork() {
		lines = append(lines, m.atWork())
	}
	lines = append(lines, m.decisionLines()...)
	lines = append(lines, m.trackLines(s, now)...)
	for i, l := range lines {
		lines[i] = strings.TrimRight(s.fit(l, s.width()), " ")
	}
	return lines
}

// joined writes parts one after the other, on as many lines as they need.
func (s Style) joined(parts ...string) []string {
	const separator = " · "
	lines := parts[:1:1]
	for _, part := range parts[1:] {
		last := &lines[len(lines)-1]
		if s.Whole || Width(*last+separator+part) <= s.width() {
			*last += separator + part
			continue
		}
		lines = append(lines, part)
	}
	return lines
}

// lasting tells how long the run took, or has taken if it goes on.
func (m *Moment) lasting(now time.Time) string {
	d := Duration(m.took(now))
	if m.bundle.State.FinishedAt.IsZero() && m.standing == "" {
		return d + " so far"
	}
	return "took " + d
}

// progress counts the steps, and tells how many of them are shown.
func (m *Moment) progress() string {
	steps := m.Steps()
	switch {
	case m.step > 0:
		return fmt.Sprintf("step %d of %d", m.step, steps)
	case steps == 1:
		return "1 step"
	default:
		return fmt.Sprintf("%d steps", steps)
	}
}

func (m *Moment) atWork() string {
	s := &m.bundle.State
	return strings.TrimSpace("at work   " + Plain(s.CurrentNode) + "  " + Plain(s.StatusDetail))
}

// maxTracks bounds the lines about progress: a head leaves room for the graph.
const maxTracks = 5

// trackLines has one line for each track, the ones that need somebody first.
func (m *Moment) trackLines(s Style, now time.Time) []string {
	const margin = "progress  "
	running := !m.Ended() && m.standing == ""
	if m.step > 0 { // it was going on then
		now, running = m.steps[m.step-1].FinishedAt.Time, true
	}
	inner := s
	inner.Width = s.width() - len(margin)
	var lines []string
	for i, t := range byUrgency(m.tracks) {
		if i == maxTracks {
			return append(lines, strings.TrimSpace(omitted(len(m.tracks)-i)))
		}
		lines = append(lines, margin+ProgressLine(t, now, running, inner))
	}
	return lines
}

// decisionLines has one line for each workflow around the position that chose,
// from the outermost to the innermost.
func (m *Moment) decisionLines() []string {
	var lines []string
	for _, scope := range m.graph.chain(m.way.position()) {
		if d, ok := m.since[scope]; ok {
			lines = append(lines, "decision  "+Plain(d.NodeID)+" → "+Plain(d.route)+reason(d.Output))
		}
	}
	return lines
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
