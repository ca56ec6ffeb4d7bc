package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"piworkflows/builtin/gitmerge"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/view"
	"piworkflows/workflow"
)

// progress shows how each branch stands: on a terminal as lines that change in
// place, elsewhere as one plain line for each change.
type progress struct {
	out     io.Writer
	live    bool
	palette view.Palette
	// width of the text behind the key, in cells.
	width int

	mu    sync.Mutex
	stand map[string]standing // by key
	runs  map[string]string   // run ID to key
	steps map[string]string   // run ID to the node that runs
	drawn bool
}

// standing is what is known of one branch.
type standing struct {
	ready controller.Readiness
	run   string
}

func newProgress(out io.Writer, live bool, style view.Style) *progress {
	return &progress{
		out: out, live: live, palette: style.Palette, width: cmp.Or(style.Width, view.DefaultWidth) - margin,
		stand: map[string]standing{}, runs: map[string]string{}, steps: map[string]string{},
	}
}

// follow reads the change feed until ctx ends.
func (p *progress) follow(ctx context.Context, store controller.Store, after controller.Cursor) {
	for {
		changes, err := store.Changes(ctx, after, controller.ChangeFilter{})
		if err != nil {
			return // ctx ended, or the host reports what the store has
		}
		after = changes.Next
		for _, e := range changes.Events {
			p.hear(ctx, store, e)
		}
	}
}

// hear looks at the resource of an event again: events are hints.
func (p *progress) hear(ctx context.Context, store controller.Store, e controller.Event) {
	r, err := store.Get(ctx, e.Ref)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := standing{ready: controller.ReadinessOf(r)}
	if run := r.Status.WorkflowRun; run != nil && run.RunID != "" {
		s.run = run.RunID
		p.runs[run.RunID] = e.Key
	}
	p.change(e.Key, func() { p.stand[e.Key] = s })
}

// step hears of a node that starts in a run. Only actions are shown: what the
// run decides in between passes in no time.
func (p *progress) step(e host.RunEvent) {
	payload, err := e.Event.Decode()
	started, ok := payload.(runbundle.NodeStarted)
	if err != nil || !ok || started.NodeType != string(workflow.TypeAction) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change(p.runs[e.RunID], func() { p.steps[e.RunID] = e.Event.NodeID })
}

// change applies an update of one branch and shows the difference. The lock is
// held.
func (p *progress) change(key string, update func()) {
	before := p.text(key)
	update()
	after := p.text(key)
	switch {
	case before == after || key == "":
	case p.live:
		p.redraw()
	default:
		fmt.Fprintf(p.out, "  %-10s %s\n", key, after)
	}
}

// margin is what a line has beside its text: the key, and a free cell at the
// end, as some terminals wrap a line that fills them.
const margin = 14

// text is what is shown of a branch.
func (p *progress) text(key string) string {
	s, known := p.stand[key]
	switch {
	case !known || s.ready.Status == controller.Unknown:
		return "waiting"
	case s.ready.Status == controller.True:
		return merged
	case s.ready.Reason == gitmerge.ReasonVerifying:
		return strings.TrimSuffix("verifying: "+p.steps[s.run], ": ")
	case s.ready.Reason == gitmerge.ReasonMerging:
		return "merging"
	default:
		first, _, _ := strings.Cut(s.ready.Message, "\n")
		return view.Fit(view.Plain(blocked+": "+s.ready.Reason+", "+first), p.width)
	}
}

// How a branch can end.
const (
	merged  = "merged"
	blocked = "blocked"
)

// redraw writes all lines over the ones before.
func (p *progress) redraw() {
	if p.drawn {
		fmt.Fprintf(p.out, "\x1b[%dA", len(branches))
	}
	p.drawn = true
	for _, b := range branches {
		fmt.Fprintf(p.out, "\x1b[2K  %-10s %s\n", b.key, p.colour(p.text(b.key)))
	}
}

func (p *progress) colour(text string) string {
	switch {
	case text == merged:
		return p.palette.Good(text)
	case strings.HasPrefix(text, blocked):
		return p.palette.Bad(text)
	default:
		return p.palette.Warm(text)
	}
}
