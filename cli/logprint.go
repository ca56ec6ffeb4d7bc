package cli

import (
	"context"
	"fmt"
	"strings"
)

// logPrinter writes the output of a run as it comes.
type logPrinter struct {
	app   *App
	logs  *logs
	flags logsFlags
	// write writes text for people.
	write func(text string) error

	lines *outputLines
	all   []outputPiece // of one result
}

// piece writes a piece of output.
func (p *logPrinter) piece(o outputPiece) error {
	switch {
	case p.app.JSON() && p.flags.follow:
		return p.app.streamJSON(p.result(o))
	case p.app.JSON():
		p.all = append(p.all, o)
		return nil
	default:
		return p.write(p.lines.text(o))
	}
}

func (p *logPrinter) result(list ...outputPiece) logsResult {
	return logsResult{
		schema("logs"), p.logs.bundle.State.RunID, statusOf(p.logs.bundle), append([]outputPiece{}, list...), p.logs.notKept,
	}
}

// end tells how the run stands once all is written.
func (p *logPrinter) end(ctx context.Context) error {
	switch {
	case p.app.JSON() && p.flags.follow:
		return p.app.streamJSON(p.result())
	case p.app.JSON():
		return p.app.printJSON(p.result(p.all...))
	}
	if err := p.write(p.lines.end()); err != nil {
		return err
	}
	p.app.sayf("%s", p.summary(p.logs.held(ctx)))
	return nil
}

// summary says what is shown and how more of it can be had.
func (p *logPrinter) summary(held bool) string {
	s := &p.logs.bundle.State
	text := fmt.Sprintf("run %s is %s", s.RunID, strings.ReplaceAll(statusOf(p.logs.bundle), "_", " "))
	switch {
	case s.Status.Terminal() && !p.flags.follow:
		text += ": this is what its record has"
	case !s.Status.Terminal() && !held:
		text += ", but no process runs it"
	case !s.Status.Terminal():
		text += ": go on with --follow"
	}
	if n := p.logs.notKept; n > 0 {
		text += fmt.Sprintf("; what %s printed was not kept", count(n, "step"))
	}
	return text
}
