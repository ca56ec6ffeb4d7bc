package sqlite_test

import (
	"bufio"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// reserveChild queues a child run of a claimed resource.
func reserveChild(t *testing.T, s *sqlite.Store, c *controller.Claim, runID string) {
	t.Helper()
	_, _, err := s.ReserveChild(t.Context(), c, controller.ChildReservation{
		RequestKey: runID, Workflow: "w", Input: json.RawMessage(`{}`), RunID: runID,
		Version: c.Resource.Metadata.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// heldByKilled makes a store whose key a and run run-1 are claimed, for an hour,
// by a process that is then killed.
func heldByKilled(t *testing.T) sqlite.Options {
	t.Helper()
	o := options(t)
	o.Clock = clock.System()
	s := open(t, o)
	put(t, s, "a")
	c := claim(t, s)
	reserveChild(t, s, c, "run-1")
	if _, err := s.Finish(t.Context(), c, controller.Finish{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out, kill := helper(t, "hold", o.Path)
	line, err := out.ReadString('\n')
	if line != "a run-1\n" {
		t.Errorf("helper says %q, %v", line, err)
	}
	watcher := open(t, o)
	if c := claim(t, watcher); c != nil {
		t.Errorf("claimed %s from a living process", c.Ref)
	}
	kill()
	return o
}

func TestKilledProcessHoldsNothing(t *testing.T) {
	t.Parallel()
	s := open(t, heldByKilled(t))
	c := claim(t, s)
	if c == nil || c.ConsecutiveErrors != 1 {
		t.Fatalf("claim %+v, want one with an error counted", c)
	}
	row, err := s.Queue(t.Context(), c.Ref)
	if err != nil || !strings.Contains(row.LastError, "died") {
		t.Errorf("last error %q, %v", row.LastError, err)
	}
	run, err := s.ClaimRun(t.Context(), runqueue.ClaimQuery{}, lasts)
	if err != nil || run == nil || !run.Interrupted || run.Fence != 2 {
		t.Fatalf("run %+v, %v; want an interrupted one with the next fence", run, err)
	}
	if run.Row.Status != runqueue.Running {
		t.Errorf("status %s", run.Row.Status)
	}
}

// A store that was open all the time finds out as well, on the machine's clock.
func TestWaitingStoreFindsTheDead(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Clock = clock.System()
	s := open(t, o)
	put(t, s, "a")
	c := claim(t, s)
	reserveChild(t, s, c, "run-1")
	if _, err := s.Finish(t.Context(), c, controller.Finish{}); err != nil {
		t.Fatal(err)
	}
	out, kill := helper(t, "hold", o.Path)
	if line, err := out.ReadString('\n'); line != "a run-1\n" {
		t.Errorf("helper says %q, %v", line, err)
	}
	ended := make(chan error, 2)
	go func() { ended <- s.WaitDue(t.Context(), []string{"c"}) }()
	go func() { ended <- s.WaitRuns(t.Context(), runqueue.ClaimQuery{}) }()
	kill()
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if claim(t, s) == nil {
		t.Error("the key is not free")
	}
	if run, err := s.ClaimRun(t.Context(), runqueue.ClaimQuery{}, lasts); run == nil {
		t.Errorf("the run is not free: %v", err)
	}
}

// What a process was told to be stored is there after it was killed, and the
// file is whole.
func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Clock = clock.System()
	for round := range 3 {
		out, kill := helper(t, "write", o.Path)
		told := readNumber(t, out)
		for told < 20*(round+1) {
			told = readNumber(t, out)
		}
		kill()
		s := open(t, o)
		for i := range told + 1 {
			if _, err := s.Get(t.Context(), ref(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := pragma(t, o.Path, "integrity_check"); got != "ok" {
			t.Errorf("integrity: %s", got)
		}
	}
}

func readNumber(t *testing.T, out *bufio.Reader) int {
	t.Helper()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("helper says %q", line)
	}
	return n
}

// A claim of a process that closed its store in order is free at once, and its
// key has not failed.
func TestClosingGivesClaimsBack(t *testing.T) {
	t.Parallel()
	o := options(t)
	first, second := open(t, o), open(t, o)
	put(t, first, "a")
	lost := claim(t, first)
	if claim(t, second) != nil {
		t.Fatal("two claims of one key")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	c := claim(t, second)
	if c == nil || c.ConsecutiveErrors != 0 {
		t.Fatalf("claim %+v, want one without errors", c)
	}
	err := second.CheckApply(t.Context(), lost)
	if lostErr := (*lease.LostError)(nil); !asError(err, &lostErr) {
		t.Errorf("check of a claim given back: %v", err)
	}
}
