package cli

import (
	"fmt"
	"sync"
	"time"

	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/view"
	"piworkflows/workflow"
)

// runProgress tells on stderr how a run goes on, one line for each event, and
// with -v what it prints.
type runProgress struct {
	app     *App
	style   view.Style
	palette view.Palette

	// mu is held while something is written: a command prints while its updates are
	// told.
	mu      sync.Mutex
	printed outputLines
	// nodes are those of the run by ID.
	nodes map[string]view.Node
	// tracks are the pieces of work that told how far they are, and shown is what
	// was shown of each.
	tracks view.Tracks
	shown  map[string]view.Sample
}

// runProgress is that of a run of a graph; without one nodes have their IDs.
func (a *App) runProgress(g *workflow.Graph) *runProgress {
	style := a.ProgressStyle()
	p := &runProgress{
		app: a, style: style, palette: style.Palette, shown: map[string]view.Sample{}, nodes: map[string]view.Node{},
		printed: outputLines{palette: style.Palette, indent: nodeMargin},
	}
	if g == nil {
		return p
	}
	if drawable, err := view.GraphOf(g); err == nil {
		for _, n := range drawable.Nodes {
			p.nodes[n.ID] = n
		}
	}
	return p
}

// nodeOf is a node of the run.
func (p *runProgress) nodeOf(id string) view.Node {
	if n, ok := p.nodes[id]; ok {
		return n
	}
	return view.Node{ID: id}
}

func (p *runProgress) hear(e host.RunEvent) {
	payload, err := e.Event.Decode()
	if err != nil {
		return // progress is a courtesy; the record is checked by its readers
	}
	node := p.nodeOf(e.Event.NodeID)
	switch said := payload.(type) {
	case runbundle.RunStarted:
		p.linef("run %s", e.RunID)
	case runbundle.NodeStarted:
		if detail := view.Plain(said.StatusDetail); detail != "" && node.Role == view.Inner {
			p.stepf("  %s %s  %s", p.palette.Warm("●"), node.StepName(), detail)
		}
	case runbundle.UpdatePublished:
		p.tracks.Add(e.Event)
		p.tellTracks(p.news)
	case runbundle.NodeEnded:
		p.tellTracks(p.untold)
		p.stepf("  %s %s  %s", view.Mark(said.Outcome, p.palette), node.StepName(), p.palette.Dim(endText(said)))
	case runbundle.RunPaused:
		p.linef("  %s paused", p.palette.Warm("‖"))
	case runbundle.RunEnded:
		p.linef("%s", endLine(said, p.palette))
	}
}

// progressCells keeps a line of progress short.
const progressCells = 60

func endText(n runbundle.NodeEnded) string {
	text := view.Duration(durationOf(n.DurationMs))
	if n.Outcome != runbundle.OutcomeOK {
		return text + "  " + view.Fit(view.Plain(n.Error), progressCells)
	}
	if preview := view.Preview(n.Output, progressCells); preview != "" {
		text += "  " + preview
	}
	return text
}

func endLine(e runbundle.RunEnded, p view.Palette) string {
	text := view.Status(e.Status, false, p)
	if e.WaitingOn != "" {
		text += " at " + view.Plain(e.WaitingOn)
	}
	return text
}

func (p *runProgress) linef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.app.o.Stderr, p.printed.end())
	p.app.sayf(format, args...)
}

// stepf writes the line of a step, cut where the terminal ends.
func (p *runProgress) stepf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if p.style.Width > 0 {
		line = view.Fit(line, p.style.Width)
	}
	p.linef("%s", line)
}

// hearOutput shows a piece of output.
func (p *runProgress) hearOutput(_ string, o spool.Piece) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.app.o.Stderr, p.printed.text(outputPiece{Node: o.NodeID, Attempt: o.AttemptID, Stream: o.Stream, Text: o.Text}))
}

// progressPause keeps a track that moves fast to a line a second.
const progressPause = time.Second

// tellTracks shows the tracks that are to be shown.
func (p *runProgress) tellTracks(wanted func(view.Track) bool) {
	for _, t := range p.tracks.List() {
		if !wanted(t) {
			continue
		}
		now := t.Samples[len(t.Samples)-1]
		p.shown[t.Key] = now
		style := p.style
		style.Width = max(0, style.Width-len(nodeMargin))
		p.linef("%s%s", nodeMargin, view.ProgressLine(t, now.At, true, style))
	}
}

// nodeMargin is where the lines of nodes have their names.
const nodeMargin = "    "

// untold reports whether the newest of a track was not shown.
func (p *runProgress) untold(t view.Track) bool {
	before, was := p.shown[t.Key]
	return !was || !before.At.Equal(t.Samples[len(t.Samples)-1].At)
}

// news reports whether a track is worth a line now: it is new, it changed its
// status or phase, or the last line is a while ago.
func (p *runProgress) news(t view.Track) bool {
	before, was := p.shown[t.Key]
	now := t.Samples[len(t.Samples)-1]
	return !was || now.Status != before.Status || now.Phase != before.Phase || now.At.Sub(before.At) >= progressPause
}
