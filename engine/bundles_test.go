package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// Every kind of run opens in readers that were written for the format.
func TestBundlesOpenInForeignReaders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 2000)
	ends := func(run workflow.Func) func(*rig) engine.Result {
		return func(r *rig) engine.Result { result, _ := r.run(flow(compute("a", run))); return result }
	}
	stops := func(at runbundle.EventType, stop func(*engine.Run)) func(*rig) engine.Result {
		return func(r *rig) engine.Result {
			r.at(at, 2, stop)
			return r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)), compute("c", gives(3, nil)))).Wait()
		}
	}
	tests := map[string]struct {
		run    func(r *rig) engine.Result
		status runbundle.Status
	}{
		"every kind of node": {func(r *rig) engine.Result {
			result, _ := r.run(tour(t, r, func(string) {}))
			return result
		}, runbundle.Waiting},
		"a continuation": {func(r *rig) engine.Result {
			r.run(asking())
			result, _ := r.finish(r.answer(asking(), `"yes"`))
			return result
		}, runbundle.Completed},
		"loops in loops": {func(r *rig) engine.Result {
			result, _ := r.run(workshop(mending(inspection())))
			return result
		}, runbundle.Completed},
		"updates": {func(r *rig) engine.Result {
			result, _ := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
				_, err := c.Publish(ctx, note("a", 1))
				return err
			})))
			return result
		}, runbundle.Completed},
		"long texts":      {ends(gives(map[string]string{"text": long, "$artifact": "mine"}, nil)), runbundle.Completed},
		"a long failure":  {ends(gives(nil, errors.New(long))), runbundle.Failed},
		"a timeout":       {ends(gives(nil, &engine.TimeoutError{})), runbundle.TimedOut},
		"a cancellation":  {stops(runbundle.EventNodeStarted, (*engine.Run).Cancel), runbundle.Cancelled},
		"an interruption": {stops(runbundle.EventNodeStarted, func(r *engine.Run) { r.Interrupt("stop") }), runbundle.Failed},
		"parked":          {stops(runbundle.EventNodeStarted, (*engine.Run).Park), runbundle.Running},
		"resumed": {func(r *rig) engine.Result {
			d := flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)))
			r.at(runbundle.EventNodeStarted, 2, (*engine.Run).Park)
			r.begin(d).Wait()
			result, _ := r.finish(r.resume(d))
			return result
		}, runbundle.Completed},
		"parked while held": {func(r *rig) engine.Result {
			r.at(runbundle.EventNodeStarted, 1, (*engine.Run).Pause)
			r.at(runbundle.EventRunPaused, 1, (*engine.Run).Park)
			return r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)))).Wait()
		}, runbundle.Running},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result := test.run(r)
			if result.Status != test.status {
				t.Fatalf("the run is %+v", result)
			}
			s := foreign{t, filepath.Join(r.options.RunsDir, result.RunID)}.read()
			if s["status"] != string(test.status) {
				t.Errorf("read as %v", s["status"])
			}
		})
	}
}
