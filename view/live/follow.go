package live

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"piworkflows/clock"
	"piworkflows/internal/watch"
	"piworkflows/runbundle"
)

const (
	// second is how often running times are written anew.
	second = time.Second
	// breath passes between two looks at the record, however fast it grows.
	breath = 50 * time.Millisecond
	// patience is how long a look waits for a signal of the file system. Some
	// file systems never give one.
	patience = 5 * time.Second
	// impatience is the same where signals cannot be had at all.
	impatience = 2 * time.Second
)

// grown says that more of the run was recorded.
type grown struct {
	bundle *runbundle.Bundle
	now    time.Time
}

// stands says how the run stands although nothing was recorded.
type stands struct{ as runbundle.Status }

// tick says that time passed.
type tick struct{ now time.Time }

// trouble says why the run is not followed any more.
type trouble struct{ err error }

// follow tells of the run until it ended or ctx did.
func follow(ctx context.Context, o Options, tell func(tea.Msg)) {
	b, c := o.Bundle, o.Clock
	if b.State.Status.Terminal() {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	var ticks sync.WaitGroup
	ticks.Go(func() {
		for clock.Sleep(ctx, c, second) == nil {
			tell(tick{c.Now()})
		}
	})
	defer ticks.Wait()
	defer stop()
	s, err := signalsOf(b.Dir)
	defer s.close()
	if err != nil {
		s.limit = impatience
	}
	for ctx.Err() == nil && !b.State.Status.Terminal() {
		next, err := b.Next()
		if err != nil {
			tell(trouble{err})
			return
		}
		if next != b {
			b, o.Standing = next, ""
			tell(grown{b, c.Now()})
		} else if as := o.ask(ctx, b); as != o.Standing {
			o.Standing = as
			tell(stands{as})
		}
		if clock.Sleep(ctx, c, breath) != nil {
			return
		}
		if !b.State.Status.Terminal() {
			s.wait(ctx, c)
		}
	}
}

// ask returns how a run stands of which nothing new is recorded.
func (o Options) ask(ctx context.Context, b *runbundle.Bundle) runbundle.Status {
	if o.Ask == nil {
		return o.Standing
	}
	as, err := o.Ask(ctx, b)
	if err != nil {
		return o.Standing
	}
	return as
}

// signals are what the file system tells of a folder.
type signals struct {
	watcher *watch.Watcher // nil if it tells nothing
	limit   time.Duration
}

var errNoSignals = errors.New("the folder cannot be watched")

// signalsOf watches the trace of a bundle.
func signalsOf(dir string) (*signals, error) {
	s := &signals{limit: patience}
	w, err := watch.New()
	if err != nil {
		return s, err
	}
	there, err := w.Add(dir, runbundle.TraceFile)
	if err == nil && !there {
		err = errNoSignals
	}
	if err != nil {
		return s, errors.Join(err, w.Close())
	}
	s.watcher = w
	return s, nil
}

// wait returns once there may be something new.
func (s *signals) wait(ctx context.Context, c clock.Clock) {
	if s.watcher == nil {
		_ = clock.Sleep(ctx, c, s.limit)
		return
	}
	ctx, cancel := clock.WithTimeoutCause(ctx, c, s.limit, context.DeadlineExceeded)
	defer cancel()
	_ = s.watcher.Wait(ctx) // for whatever reason: the caller looks again
}

func (s *signals) close() {
	if s.watcher != nil {
		_ = s.watcher.Close() // nothing was written
	}
}
