package fswatch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/source/fswatch"
)

// Where the limit of watches is reached the source looks at intervals, says so,
// and watches again when it can.
func TestTheLimitOfWatches(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, nil)
	var raised atomic.Bool
	b.source.Limit(func(dir string) error {
		if filepath.Base(dir) == "far" && !raised.Load() {
			return syscall.ENOSPC
		}
		return nil
	})
	b.wantLooksAtIntervals(c, "max_user_watches", func() { raised.Store(true) })
}

func TestASystemThatDoesNotWatch(t *testing.T) {
	t.Parallel()
	c := clocktest.New()
	b := newBench(t, nil)
	var supported atomic.Bool
	b.source.FailOpen(func() error {
		if supported.Load() {
			return nil
		}
		return errors.ErrUnsupported
	})
	b.wantLooksAtIntervals(c, "unsupported", func() { supported.Store(true) })
}

func (b *bench) wantLooksAtIntervals(c *clocktest.Manual, reason string, mend func()) {
	b.t.Helper()
	b.mkdir("far")
	b.write("far/f", "")
	b.start(c)
	b.want(".", "far", "far/f")
	b.await("that it says so", func() bool {
		return strings.Contains(b.degraded, reason) && strings.Contains(b.degraded, "every 30s")
	})
	b.write("far/f", "more")
	b.write("g", "")
	b.await("that it says when", func() bool { return b.next.Equal(c.Now().Add(fswatch.DefaultInterval)) })
	b.timers(c, 1)
	c.Advance(fswatch.DefaultInterval)
	b.want("far/f", "g")
	mend()
	b.timers(c, 1)
	c.Advance(time.Minute)
	b.await("that all is well", func() bool { return b.degraded == "" && b.next.IsZero() })
	b.write("far/h", "")
	b.timers(c, 1)
	c.Advance(quick)
	b.want("far/h")
}

func TestLostEventsLeadToALookAtEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	opened := make(chan *fsnotify.Watcher, 1)
	b.source.Opened(opened)
	b.mkdir("d")
	b.start(clock.System())
	b.want("d")
	w := <-opened
	b.must(w.Remove(b.path("d")))
	b.write("d/f", "")
	b.write("heard", "")
	b.want("heard")
	w.Errors <- fsnotify.ErrEventOverflow
	b.want("d/f")
	b.write("d/f", "the watch is set again")
	b.want("d/f")
}

func TestAFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	b := newBench(t, nil)
	b.mkdir("closed")
	b.write("closed/f", "")
	b.start(clock.System())
	b.want("closed/f")
	b.must(os.Chmod(b.path("closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(b.path("closed"), 0o700) })
	b.await("that it says so", func() bool { return strings.Contains(b.degraded, "permission denied") })
	b.forget()
	b.must(os.Chmod(b.path("closed"), 0o700))
	b.write("closed/g", "")
	b.want("closed/g")
}

// What happened while deliveries failed and while nobody watched is delivered
// once it can be, removals included.
func TestNothingIsMissedBetweenTwoRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.mkdir("d")
	b.write("d/gone", "")
	b.write("written", "")
	b.start(clock.System())
	b.want("d/gone")
	errFull := errors.New("the disk is full")
	b.change(func() { b.refuse = errFull })
	b.write("owed", "")
	if err := <-b.ended; !errors.Is(err, errFull) {
		t.Errorf("Run = %v", err)
	}
	b.remove("d")
	b.write("written", "more")
	b.change(func() { b.refuse = nil })
	b.start(clock.System())
	b.want("owed", "d", "d/gone", "written")
}
