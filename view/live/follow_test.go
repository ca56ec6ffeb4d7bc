package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"piworkflows/runbundle"
)

// ear takes what a follower tells.
type ear struct {
	t    *testing.T
	msgs chan tea.Msg
	done chan struct{}
	stop context.CancelFunc
}

func listen(t *testing.T, r *record) *ear {
	t.Helper()
	return listenAs(t, r, Options{})
}

func listenAs(t *testing.T, r *record, o Options) *ear {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	e := &ear{t: t, msgs: make(chan tea.Msg, 100), done: make(chan struct{}), stop: stop}
	o.Bundle, o.Clock = r.read(), r.clock
	go func() {
		defer close(e.done)
		follow(ctx, o, func(msg tea.Msg) { e.msgs <- msg })
	}()
	t.Cleanup(func() { stop(); <-e.done })
	return e
}

// hear waits for a message of a type, and passes over others.
func hear[M tea.Msg](e *ear) M {
	e.t.Helper()
	for {
		select {
		case msg := <-e.msgs:
			if m, ok := msg.(M); ok {
				return m
			}
		case <-e.t.Context().Done():
			e.t.Fatal("nothing was told")
		}
	}
}

// pass lets the breath after a look pass: then the clock waits for the next
// second, and for how long a signal may take.
func pass(t *testing.T, r *record, d time.Duration) {
	t.Helper()
	if err := r.clock.AwaitTimers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(d)
}

func TestWhatIsRecordedIsFollowedBySignals(t *testing.T) {
	t.Parallel()
	r := loop(t)
	e := listen(t, r)
	pass(t, r, breath)
	r.in("repair", runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{}`)})
	if g := hear[grown](e); len(g.bundle.State.Steps) != 8 {
		t.Errorf("%d steps, want 8", len(g.bundle.State.Steps))
	}
	pass(t, r, breath)
	r.append(runbundle.Draft{Payload: runbundle.RunEnded{Status: runbundle.Completed}})
	if g := hear[grown](e); g.bundle.State.Status != runbundle.Completed {
		t.Errorf("status %s", g.bundle.State.Status)
	}
	pass(t, r, breath)
	<-e.done // an ended run tells nothing more
}

func TestSecondsAreTold(t *testing.T) {
	t.Parallel()
	r := loop(t)
	e := listen(t, r)
	for range 3 {
		pass(t, r, second)
		if got := hear[tick](e); !got.now.Equal(r.clock.Now()) {
			t.Errorf("now = %v", got.now)
		}
	}
}

// A process that is killed records nothing, and one that takes its run up does.
func TestARunThatNobodyRunsIsTold(t *testing.T) {
	t.Parallel()
	r := loop(t)
	asked := make(chan runbundle.Status)
	var broken error
	e := listenAs(t, r, Options{Ask: func(context.Context, *runbundle.Bundle) (runbundle.Status, error) {
		as := <-asked
		return as, broken
	}})
	asked <- ""
	for _, as := range []runbundle.Status{"", "interrupted", "interrupted", "running"} {
		pass(t, r, breath)
		pass(t, r, patience)
		asked <- as
	}
	for _, want := range []runbundle.Status{"interrupted", "running"} {
		if got := hear[stands](e); got.as != want {
			t.Errorf("it stands as %q, want %q", got.as, want)
		}
	}
	pass(t, r, breath)
	broken = errors.New("the store is busy")
	pass(t, r, patience)
	asked <- "parked"
	pass(t, r, breath)
	r.in("repair", runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{}`)})
	for {
		switch msg := (<-e.msgs).(type) {
		case stands:
			t.Errorf("after a question that failed it stands as %q", msg.as)
		case grown:
			return
		}
	}
}

// Where the file system tells nothing the record is looked at all the same, but
// not often.
func TestAFolderThatCannotBeWatchedIsLookedAt(t *testing.T) {
	t.Parallel()
	r := loop(t)
	s, err := signalsOf(filepath.Join(r.w.Dir(), "nothing"))
	if err == nil || s.watcher != nil {
		t.Fatalf("a folder that is not there is watched: %v", err)
	}
	s.limit = impatience
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		s.wait(t.Context(), r.clock)
	}()
	if err := r.clock.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(impatience)
	<-waited
	s.close()
}

func TestABrokenRecordIsTold(t *testing.T) {
	t.Parallel()
	r := loop(t)
	e := listen(t, r)
	pass(t, r, breath)
	file, err := os.OpenFile(filepath.Join(r.w.Dir(), runbundle.TraceFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("{\n"); err != nil {
		t.Fatal(err)
	}
	if err := hear[trouble](e).err; err == nil {
		t.Error("trouble without an error")
	}
	<-e.done
}

func TestAnEndedRunIsNotFollowed(t *testing.T) {
	t.Parallel()
	e := listen(t, ended(t))
	<-e.done
	if len(e.msgs) > 0 {
		t.Errorf("%d messages", len(e.msgs))
	}
}
