package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func TestCallbacksReadEarlierSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const steps = 300 // more than stay in memory
	text := strings.Repeat("x", 500)
	var seen int
	d := flow(
		compute("a", func(_ context.Context, c *workflow.Context) (any, error) {
			for _, i := range []int{0, c.View.Steps() / 2, c.View.Steps() - 1} {
				if i < 0 || i >= c.View.Steps() {
					continue
				}
				seen++
				if s := c.View.Step(i); s.NodeID != "a" || !strings.Contains(string(s.Output), text) || s.AttemptID == "" {
					t.Errorf("step %d is %.100v", i, s)
				}
			}
			return map[string]any{"again": c.View.Steps() < steps, "text": text}, nil
		}),
		compute("end", gives(nil, nil)),
	)
	d.MaxSteps = 2 * steps
	d.Edges = []workflow.Edge{{From: "a", Switch: routes("$.again", "true>a", "false>end")}}
	result, b := r.run(d)
	r.want(result, runbundle.Completed, "", "")
	if len(b.State.Steps) != steps+2 || seen != 3*steps {
		t.Errorf("%d steps, %d looks at earlier ones", len(b.State.Steps), seen)
	}
}

// What a callback makes of a step that could not be read back is worth nothing.
func TestStepThatCannotBeReadBackFailsTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var dir string
	d := flow(
		compute("write", gives(strings.Repeat("x", 5000), nil)),
		compute("look", func(_ context.Context, c *workflow.Context) (any, error) {
			if err := os.RemoveAll(filepath.Join(dir, "artifacts")); err != nil {
				t.Error(err)
			}
			return c.View.Step(0).Output == nil, nil
		}),
	)
	d.Edges[0] = workflow.Edge{From: "write", Switch: routes("$result.outcome", "ok>look")}
	dir = filepath.Join(r.options.RunsDir, runID)
	result := r.begin(d).Wait()
	r.want(result, runbundle.Failed, engine.CodeRecord, "artifact")
}

func TestStepThatIsNotThereIsAMistakeOfTheAuthor(t *testing.T) {
	t.Parallel()
	for _, i := range []int{-1, 0, 7} {
		r := newRig(t)
		result, _ := r.run(flow(compute("look", func(_ context.Context, c *workflow.Context) (any, error) {
			return c.View.Step(i), nil
		})))
		r.want(result, runbundle.Failed, "callback_panicked", "step")
	}
}
