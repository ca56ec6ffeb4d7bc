// Package live shows a recorded run on a whole terminal: one goes through its
// steps and nodes, opens what one wants to read, and sees it go on. It reads the
// record and changes nothing. It is a package of its own so that nobody else
// carries a terminal library.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"piworkflows/clock"
	"piworkflows/runbundle"
	"piworkflows/view"
)

// Options say what is shown, and where. All fields but Step, Folds, Standing and
// Ask are needed.
type Options struct {
	// Bundle is the run as it was read.
	Bundle *runbundle.Bundle
	// Step is the step to begin with, counted from one; zero is the present.
	Step  int
	Folds view.Folds
	// Standing is how the run stands if its record cannot tell; see
	// view.Replay.Standing.
	Standing runbundle.Status
	// Ask, if set, returns Standing anew. It is asked when nothing was recorded for a
	// while: nobody tells that a process was killed. Its errors change nothing.
	Ask func(context.Context, *runbundle.Bundle) (runbundle.Status, error)
	// Palette colours the screen.
	Palette view.Palette
	// Clock tells how long things take, and paces what is shown of a run that
	// goes on.
	Clock clock.Clock
	// Input and Output are the terminal, Environ the environment that describes
	// it.
	Input   io.Reader
	Output  io.Writer
	Environ []string
}

// Run shows the run until the person leaves, which is no error, or ctx ends,
// whose cause it returns. The terminal is as it was before when it returns,
// whatever the reason. The other errors are those of view.NewReplay and
// [view.Replay.At], and of the terminal.
func Run(ctx context.Context, o Options) error { return run(ctx, o) }

func run(ctx context.Context, o Options, more ...tea.ProgramOption) error {
	m, err := newModel(o)
	if err != nil {
		return err
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	// Signals reach the program through ctx; a terminal in raw mode sends none.
	p := tea.NewProgram(m, append([]tea.ProgramOption{
		tea.WithContext(inner), tea.WithInput(o.Input), tea.WithOutput(o.Output), tea.WithEnvironment(o.Environ),
		tea.WithoutSignalHandler(),
	}, more...)...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follow(inner, o, func(msg tea.Msg) { p.Send(msg) })
	}()
	_, err = p.Run()
	stop()
	<-ended
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return fmt.Errorf("show the run on the terminal: %w; --once prints it", err)
	}
	return nil
}
