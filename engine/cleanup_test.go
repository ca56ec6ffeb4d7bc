package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// cleaned is a definition of one node with a cleanup that tells that it came.
func cleaned(n workflow.Node) (*workflow.Definition, *[]string) {
	d, calls := flow(n), []string{}
	d.Cleanup = func(_ context.Context, c *workflow.Context) error {
		output, _ := c.View.Output(n.NodeID())
		calls = append(calls, c.RunID+" "+string(c.Input)+" "+string(output))
		return nil
	}
	return d, &calls
}

func TestCleanupComesOnceAfterTheEndOfARun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		node workflow.Node
		stop func(*engine.Run)
		want string
	}{
		{"completed", compute("a", gives(1, nil)), nil, runID + ` null 1`},
		{"failed", compute("a", gives(nil, errors.New("no"))), nil, runID + ` null `},
		{"cancelled", compute("a", nil), (*engine.Run).Cancel, runID + ` null `},
		{"interrupted", compute("a", nil), func(r *engine.Run) { r.Interrupt("stop") }, ""},
		{"waiting", workflow.Checkpoint{ID: "a"}, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			working := make(chan struct{})
			if test.stop != nil {
				test.node = compute("a", waits(working))
			}
			d, calls := cleaned(test.node)
			run := r.begin(d)
			if test.stop != nil {
				<-working
				test.stop(run)
			}
			r.finish(run)
			if got := strings.Join(*calls, "; "); got != test.want {
				t.Errorf("cleanup was called with %q, want %q", got, test.want)
			}
		})
	}
}

func TestCleanupSeesTheRecordedEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := flow(compute("a", gives(1, nil)))
	var seen runbundle.Status
	d.Cleanup = func(context.Context, *workflow.Context) error {
		b, err := runbundle.Read(r.options.RunsDir + "/" + runID)
		if err == nil {
			seen = b.State.Status
		}
		return errors.Join(err, errors.New("its error changes nothing"))
	}
	result, _ := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	if seen != runbundle.Completed {
		t.Errorf("cleanup saw a run that was %q", seen)
	}
}

func TestNoCleanupOnceTheClaimIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d, calls := cleaned(compute("a", gives(1, nil)))
	r.start.Fence = func(context.Context) error {
		ended := slices.ContainsFunc(r.events, func(e runbundle.Event) bool { return e.Type == runbundle.EventRunCompleted })
		if ended {
			return lease.ErrLost
		}
		return nil
	}
	r.run(d)
	if len(*calls) > 0 {
		t.Errorf("cleanup was called: %q", *calls)
	}
}
