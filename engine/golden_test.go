package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/internal/golden"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// tour is a run through every kind of node but the shell, whose durations are
// real. acts is told of each moment at which the world outside is touched.
func tour(t *testing.T, r *rig, acts func(what string)) *workflow.Definition {
	t.Helper()
	r.options.Agents = script(func(ctx context.Context, q agentRequest) (*runbundle.Conversation, error) {
		acts("agent")
		r.clock.Advance(100 * time.Millisecond)
		return nil, q.Accept(ctx, raw(`{"route":"fix","reason":"it is broken"}`))
	})
	r.options.Notifier = told{acts}
	d := flow(
		compute("look", func(_ context.Context, c *workflow.Context) (any, error) {
			r.clock.Advance(5 * time.Millisecond)
			return map[string]any{"seen": c.View.Steps()}, nil
		}),
		asks(nil),
		workflow.Action{ID: "fix", StatusDetail: "fixing", Run: func(context.Context, *workflow.Context) (any, error) {
			acts("action")
			return nil, errors.New("not today")
		}},
		says("tell", "", "could not fix it"),
		workflow.Checkpoint{ID: "wait", Summary: "What now?"},
	)
	d.Edges[2] = workflow.Edge{From: "fix", Switch: routes("$result.outcome", "ok>look", "failed>tell")}
	d.Title = func(context.Context, json.RawMessage) (string, error) { return "A tour", nil }
	r.start.Input = raw(`{"subject":"<it>"}`)
	return d
}

type told struct{ acts func(string) }

func (n told) Notify(context.Context, notification) (receiptOfNotify, error) {
	n.acts("notify")
	return receiptOfNotify{NotificationID: "n1", TargetSessionID: "s1"}, nil
}

func TestGoldenRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	result, b := r.run(tour(t, r, func(string) {}))
	r.want(result, runbundle.Waiting, "", "")
	for _, name := range []string{"manifest.json", "workflow.json", "state.json", "trace.ndjson"} {
		got, err := os.ReadFile(filepath.Join(b.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, string(got))
	}
}

// The order of durable operations: what is about to happen outside is on disk,
// synced and allowed by the fence, before it happens.
func TestGoldenOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log []string
	r.options.FS = durable.WithHook(func(op durable.Op, path string) error {
		name, _ := filepath.Rel(r.options.RunsDir, path)
		name = strings.TrimPrefix(filepath.ToSlash(name), runID+"/")
		log = append(log, string(op)+" "+name)
		return nil
	})
	r.start.Reserve = func(context.Context, json.RawMessage) error {
		log = append(log, "-- reserve")
		return nil
	}
	r.start.Fence = func(context.Context) error {
		log = append(log, "-- fence")
		return nil
	}
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		log = append(log, "-- "+strings.TrimSpace(string(e.Type)+" "+e.NodeID))
		r.observe(e, v)
	}
	result, _ := r.run(tour(t, r, func(what string) { log = append(log, "** "+what) }))
	r.want(result, runbundle.Waiting, "", "")
	golden.Check(t, "order.txt", strings.Join(log, "\n")+"\n")
}

// The same for a run that is parked while a step works, and resumed by another
// owner: what the step did outside is done anew, and nothing before it.
func TestGoldenOrderOfAResumedRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log []string
	r.options.FS = durable.WithHook(func(op durable.Op, path string) error {
		name, _ := filepath.Rel(r.options.RunsDir, path)
		log = append(log, string(op)+" "+strings.TrimPrefix(filepath.ToSlash(name), runID+"/"))
		return nil
	})
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		log = append(log, "-- "+strings.TrimSpace(string(e.Type)+" "+e.NodeID))
		r.observe(e, v)
	}
	r.at(runbundle.EventNodeStarted, 3, (*engine.Run).Park)
	d := tour(t, r, func(what string) { log = append(log, "** "+what) })
	if result := r.begin(d).Wait(); !result.Parked {
		t.Fatalf("the run is %+v", result)
	}
	log = append(log, "== resume")
	result, _ := r.finish(r.resume(d))
	r.want(result, runbundle.Waiting, "", "")
	golden.Check(t, "resumed.txt", strings.Join(log[slices.Index(log, "-- node_finished ask"):], "\n")+"\n")
}
