package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// crew is an agent that answers at once. It keeps when it was asked what, since it
// was made.
type crew struct {
	since time.Time

	mu    sync.Mutex
	asked []string
}

func newCrew() *crew { return &crew{since: time.Now()} }

func (c *crew) Execute(ctx context.Context, r engine.AgentRequest) (*runbundle.Conversation, error) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Contract.NodeID+" "+time.Since(c.since).Round(time.Minute).String())
	c.mu.Unlock()
	return nil, r.Accept(ctx, json.RawMessage(`"aye"`))
}

func (c *crew) mustHaveBeenAsked(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.asked, want) {
		t.Errorf("the agent was asked %q, want %q", c.asked, want)
	}
}

// sails asks an agent three times, each of which has a minute.
func sails() *workflow.Definition {
	d := &workflow.Definition{Name: "work", Revision: "1", StartAt: "hoist"}
	for i, id := range []string{"hoist", "trim", "furl"} {
		d.Nodes = append(d.Nodes, workflow.Agent{
			ID: id, Limits: workflow.Limits{Timeout: time.Minute},
			Prompt: func(context.Context, *workflow.Context) (string, error) { return id + " the sail", nil },
		})
		if i > 0 {
			d.Edges = append(d.Edges, workflow.Edge{From: d.Nodes[i-1].NodeID(), To: id})
		}
	}
	return d
}

// harbour is a project whose resource job/a asks for a run of sails, of which two
// agent attempts an hour are allowed. Its time is that of the bubble.
type harbour struct {
	*world
	crew  *crew
	store host.Store
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{crew: newCrew()}
	h.open(t, t.TempDir())
	h.put(t, "a", "any")
	return h
}

func (h *harbour) open(t *testing.T, dir string) {
	t.Helper()
	h.world = openWorldAt(t, dir, newWork(), clock.System())
	h.store = h.world.store
	var err error
	h.catalog, err = host.Definitions{
		Controllers: []*controller.Definition{controller.Define("job", jobs{}, controller.WithAgentAttemptsPerHour(2))},
		Workflows:   []*workflow.Definition{sails()},
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
}

// sail runs a host until nothing is left to do, or the function that it returns is
// called.
func (h *harbour) sail(t *testing.T) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	o := h.options()
	o.Agents = h.crew
	hosted, err := host.New(t.Context(), o, h.store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := hosted.RunOnce(ctx)
		done <- errors.Join(err, hosted.Close())
	}()
	return cancel, done
}

// pass lets time of the bubble go by.
func (h *harbour) pass(t *testing.T, d time.Duration) {
	t.Helper()
	if err := clock.Sleep(t.Context(), h.clock, d); err != nil {
		t.Fatal(err)
	}
}

// explain returns the first reason of job/a, and how long it is until then.
func (h *harbour) explain(t *testing.T) (controller.ReasonCode, time.Duration) {
	t.Helper()
	children, err := h.store.Children(t.Context(), job("a"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.store.Get(t.Context(), job("a"))
	if err != nil {
		t.Fatal(err)
	}
	found := controller.Explain(controller.Situation{
		Resource: r, Queue: controller.QueueRow{State: controller.QueueNone}, Children: children, Loaded: true, HostRuns: true, Now: time.Now(),
	}).Reasons[0]
	if found.At == nil {
		return found.Code, 0
	}
	return found.Code, time.Until(*found.At).Round(time.Minute)
}

func TestAnAgentAttemptTooManyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarbour(t)
		stop, ended := h.sail(t)
		defer stop()
		h.pass(t, 10*time.Minute)
		if code, in := h.explain(t); code != controller.ReasonAgentRateLimited || in != 20*time.Minute {
			t.Errorf("explained as %s, in %s", code, in)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		h.crew.mustHaveBeenAsked(t, "hoist 0s", "trim 0s", "furl 30m0s")
		if ready, status := h.job(t, "a"); ready.Status != controller.True || status.Attempts != 1 {
			t.Errorf("%+v %+v", ready, status)
		}
	})
}

// What was used up before a restart still is, and what waited was not used up.
func TestARestartGivesNoAgentAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarbour(t)
		for range 3 {
			stop, ended := h.sail(t)
			h.pass(t, time.Minute)
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := h.world.store.Close(); err != nil {
				t.Fatal(err)
			}
			h.open(t, h.paths.Project)
		}
		stop, ended := h.sail(t)
		defer stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		h.crew.mustHaveBeenAsked(t, "hoist 0s", "trim 0s", "hoist 30m0s", "trim 1h0m0s", "furl 1h30m0s")
		if ready, status := h.job(t, "a"); ready.Status != controller.True || status.Attempts != 4 {
			t.Errorf("%+v %+v", ready, status)
		}
	})
}

func TestADeletionEndsTheWaitForAnAgentAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarbour(t)
		stop, ended := h.sail(t)
		defer stop()
		h.pass(t, time.Minute)
		if _, err := h.store.RequestDeletion(t.Context(), controller.Deletion{Ref: job("a")}); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Get(t.Context(), job("a")); !errors.Is(err, controller.ErrNotFound) {
			t.Errorf("Get = %v", err)
		}
		if waited := time.Since(h.crew.since).Round(time.Minute); waited != time.Minute {
			t.Errorf("it took %s", waited)
		}
	})
}

// A person who runs the same workflow waits for nothing, and takes nothing away.
func TestRunsOfPeopleAreNotBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarbour(t)
		o := h.options()
		o.Agents = h.crew
		result, err := host.RunWorkflow(t.Context(), o, h.store, "work", json.RawMessage(`{"mode":"any"}`))
		if err != nil || result.Status != runbundle.Completed {
			t.Fatalf("RunWorkflow = %+v, %v", result, err)
		}
		stop, ended := h.sail(t)
		defer stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		h.crew.mustHaveBeenAsked(t, "hoist 0s", "trim 0s", "furl 0s", "hoist 0s", "trim 0s", "furl 30m0s")
	})
}

// An attempt that cannot be counted is tried again, unless the run belongs to
// another process by now: then it is interrupted, and did not fail.
func TestAnAgentAttemptThatIsNotCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail     func(op string) error
		attempts int
	}{
		"busy": {times(1, "CountAgentAttempt", errBusy), 1},
		"lost": {lostWithin(10*time.Second, "CountAgentAttempt"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarbour(t)
				h.store = h.failing(test.fail)
				stop, ended := h.sail(t)
				defer stop()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if ready, status := h.job(t, "a"); ready.Status != controller.True || status.Attempts != test.attempts {
					t.Errorf("%+v %+v", ready, status)
				}
			})
		})
	}
}

// lostWithin lets the claim of a run be lost at the first call of an operation, and
// for so long.
func lostWithin(d time.Duration, op string) func(string) error {
	var from time.Time
	return func(o string) error {
		if o == op && from.IsZero() {
			from = time.Now()
		}
		if !from.IsZero() && time.Since(from) < d {
			return &lease.LostError{What: "run", Reason: lease.Taken}
		}
		return nil
	}
}
