package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

type (
	agentRequest    = engine.AgentRequest
	notification    = engine.Notification
	receiptOfNotify = engine.NotificationReceipt
)

// TestLostClaim loses the claim at each question of the fence: what stands
// behind the question does not happen, and nothing is written any more.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	for at := 2; ; at++ { // the first question belongs to Start
		r := newRig(t)
		asked, lost := 0, false
		r.start.Fence = func(context.Context) error {
			if asked++; asked == at {
				lost = true
				return &lease.LostError{What: runID, Reason: lease.Taken}
			}
			return nil
		}
		r.start.Observe = func(e runbundle.Event, v workflow.View) {
			if lost {
				t.Errorf("question %d: %s was recorded afterwards", at, e.Type)
			}
			r.observe(e, v)
		}
		run := r.begin(tour(t, r, func(what string) {
			if lost {
				t.Errorf("question %d: %s happened afterwards", at, what)
			}
		}))
		result := run.Wait()
		if !lost {
			if at < 5 {
				t.Fatalf("the fence was asked %d times only", asked)
			}
			return
		}
		if !errors.Is(result.Err, lease.ErrLost) || result.Status != runbundle.Running || result.ErrorCode != "claim_lost" {
			t.Fatalf("question %d: %s %q %v", at, result.Status, result.ErrorCode, result.Err)
		}
		wantErr[*engine.RecordError](t, result.Err)
		b, err := runbundle.Read(run.Dir())
		if err != nil || b.State.Status != runbundle.Running || len(b.Events) != len(r.events) {
			t.Fatalf("question %d: %s with %d events, %v", at, b.State.Status, len(b.Events), err)
		}
		mustBeFree(t, run.Dir())
	}
}

// A store that cannot answer for a while delays the run and does not end it.
func TestBusyFenceIsAskedAgain(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	for _, test := range []struct {
		name   string
		fails  int
		cancel bool
		err    error
		status runbundle.Status
	}{
		{"for a moment", 3, false, nil, runbundle.Completed},
		{"for too long", 1000, false, busy, runbundle.Running},
		{"and the run is cancelled", 1000, true, busy, runbundle.Running},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			started := false
			asked, fails := make(chan struct{}, 100), test.fails
			r.start.Fence = func(context.Context) error {
				if !started || fails == 0 {
					return nil
				}
				fails--
				asked <- struct{}{}
				return busy
			}
			r.start.Observe = func(e runbundle.Event, v workflow.View) {
				started = true
				r.observe(e, v)
			}
			run := r.begin(flow(workflow.Action{ID: "a", Run: gives(1, nil)}))
			for i := 1; i <= min(test.fails, 31); i++ {
				<-asked
				if test.cancel {
					run.Cancel()
					break
				}
				if i <= min(test.fails, 30) {
					r.clock.await(t, time.Second, i)
					r.clock.Advance(time.Second)
				}
			}
			result := run.Wait()
			if result.Status != test.status || !errors.Is(result.Err, test.err) {
				t.Errorf("%s, %v", result.Status, result.Err)
			}
		})
	}
}

// TestDiskFaultDuringARun fails the n-th operation after the start, and maybe
// all that follow: one clear error, and the record says what happened. The disk
// never ends a run: with space again it goes on.
func TestDiskFaultDuringARun(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name string
		err  error
		from bool
	}{{"full once", syscall.ENOSPC, false}, {"read-only from then on", syscall.EROFS, true}} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				if !faultyRun(t, at, fault.err, fault.from) {
					if at < 15 {
						t.Fatalf("the run has %d operations only", at)
					}
					return
				}
			}
		})
	}
}

// faultyRun reports whether the operation that should fail came at all.
func faultyRun(t *testing.T, at int, fault error, from bool) (failed bool) {
	t.Helper()
	r := newRig(t)
	var started atomic.Bool
	n := 0
	r.options.FS = durable.WithHook(func(op durable.Op, path string) error {
		if !started.Load() {
			return nil
		}
		if n++; n == at || from && n > at {
			failed = true
			return fault
		}
		return nil
	})
	acted := 0
	begin := make(chan struct{})
	d := tour(t, r, func(string) { acted++ })
	d.Nodes[0] = compute("look", func(context.Context, *workflow.Context) (any, error) {
		<-begin
		return 1, nil
	})
	run := r.begin(d)
	started.Store(true)
	close(begin)
	result := run.Wait()
	started.Store(false)
	b, err := runbundle.Read(run.Dir())
	if err != nil {
		t.Fatalf("operation %d: %v", at, err)
	}
	if result.Err != nil {
		if !durable.IsDiskFull(result.Err) && !durable.IsReadOnly(result.Err) {
			t.Fatalf("operation %d: the error does not say what is wrong: %v", at, result.Err)
		}
		if strings.Count(result.Err.Error(), "cannot be recorded") != 1 {
			t.Errorf("operation %d: more than one error: %v", at, result.Err)
		}
	}
	// Each act outside has its started attempt in the record, and each event
	// that was told is there.
	if outside := max(0, strings.Count(kinds(b), "node_started")-1); acted > outside || len(b.Events) < len(r.events) {
		t.Fatalf("operation %d: %d acts, %d told events, but the record has %s", at, acted, len(r.events), kinds(b))
	}
	// An end that may not last does not count.
	if result.Status != b.State.Status && (result.Err == nil || result.Status != runbundle.Running) {
		t.Fatalf("operation %d: result %s (%v), record %s", at, result.Status, result.Err, b.State.Status)
	}
	if result.Status != runbundle.Running && result.Status != runbundle.Waiting {
		t.Fatalf("operation %d: the disk ended the run as %s: %s", at, result.Status, result.Error)
	}
	if !from && b.State.Status == runbundle.Running {
		if next := r.resume(d).Wait(); next.Status != runbundle.Waiting || next.Err != nil {
			t.Fatalf("operation %d: with space again the run is %s, %v", at, next.Status, next.Err)
		}
		return failed
	}
	s, err := runbundle.MarkInterrupted(t.Context(), runbundle.Options{Clock: r.clock}, run.Dir(), "disk")
	if err != nil || !s.Status.Terminal() || len(s.Steps) != len(b.State.Steps) {
		t.Fatalf("operation %d: %s with %d of %d steps, %v", at, s.Status, len(s.Steps), len(b.State.Steps), err)
	}
	return failed
}
