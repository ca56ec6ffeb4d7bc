package cli

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"piworkflows/clock"
	"piworkflows/host"
	"piworkflows/runqueue"
)

func (h house) paths() host.Paths {
	h.t.Helper()
	paths, err := host.Locate(host.Places{Project: h.flags[1], Store: h.flags[3], Runs: h.flags[5]})
	if err != nil {
		h.t.Fatal(err)
	}
	return paths
}

func (h house) store() host.Store {
	h.t.Helper()
	s, err := host.OpenStore(h.t.Context(), h.paths(), clock.System(), slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return s
}

// queued leaves a run to a host that does not run, and returns its ID.
func (h house) queued(workflow, input string) string {
	h.t.Helper()
	text := h.do(exitDone, "run", workflow, "--input", input, "--detach")
	return strings.Fields(text)[1]
}

func TestAQueuedRunIsFollowedOnceItStarts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runID := h.queued("greet", `{"name":"Ada"}`)
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer w.Close()
		code <- h.app(io.Discard, w).Execute(t.Context(), append([]string{"logs", runID, "--follow"}, h.flags...))
	}()
	lines := bufio.NewScanner(r)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the next line is %q, want %q", lines.Text(), want)
		}
	}
	expect("run " + runID + " is queued: its output follows once a host runs it")
	expect("no host is at work")
	h.do(exitDone, "host", "--once")
	expect("run " + runID + " is completed")
	if lines.Scan() {
		t.Errorf("there is one more line: %q", lines.Text())
	}
	if got := <-code; got != exitDone {
		t.Errorf("exit code %d", got)
	}
}

func TestARunThatEndsInTheQueueIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	runID := h.queued("greet", `{"name":"Ada"}`)
	q := queuedRun{h.store(), runID, h.paths().Runs}
	if decided, err := q.decided(t.Context()); decided || err != nil {
		t.Fatalf("queued: decided %v, %v", decided, err)
	}
	h.do(exitDone, "cancel", runID)
	if decided, err := q.decided(t.Context()); !decided || err != nil {
		t.Errorf("cancelled: decided %v, %v", decided, err)
	}
	q.runID += "0"
	_, err := q.decided(t.Context())
	if e, ok := errors.AsType[*runqueue.NotFoundError](err); !ok || e.RunID != q.runID {
		t.Errorf("unknown: %v", err)
	}
}
